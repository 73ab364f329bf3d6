package testbed.jobs;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import testbed.jobs.Nexmark.Auction;
import testbed.jobs.Nexmark.Event;
import testbed.jobs.Nexmark.Person;

/**
 * Persons and auctions from one source, so that they keep their proportion at any rate; they part
 * inside the source's task, and neither goes where the other is wanted.
 */
final class TwoKinds {
    private static final OutputTag<Auction> AUCTIONS =
            new OutputTag<>("auctions", TypeInformation.of(Auction.class));

    final DataStream<Person> persons;
    final DataStream<Auction> auctions;

    TwoKinds(HeadlineJob job) {
        SingleOutputStreamOperator<Person> both =
                job.source("events", new Nexmark.PersonsAndAuctions(job.sources), Event.class)
                        .process(new Part())
                        .name("part")
                        .uid("part")
                        .setParallelism(job.sources);
        persons = both;
        auctions = both.getSideOutput(AUCTIONS);
    }

    private static final class Part extends ProcessFunction<Event, Person> {
        private static final long serialVersionUID = 1L;

        @Override
        public void processElement(Event event, Context context, Collector<Person> out) {
            if (event.person != null) {
                out.collect(event.person);
            } else {
                context.output(AUCTIONS, event.auction);
            }
        }
    }
}
