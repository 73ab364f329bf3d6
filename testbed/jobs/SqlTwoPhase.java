package testbed.jobs;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;
import testbed.jobs.Nexmark.Bid;

/**
 * Bids per auction, in SQL: {@code bids -> LocalGroupAggregate -> (HASH) -> GlobalGroupAggregate ->
 * sink}. The planner names the two in the middle, with what it chains to them; the local aggregate
 * sends on what its site has counted in {@code flush-ms}.
 *
 * <p>Arguments beside those of {@link HeadlineJob}: {@code flush-records}, default 20000, and
 * {@code flush-ms}, default 1000, of the planner's mini batches.
 */
public final class SqlTwoPhase {
    private SqlTwoPhase() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        int flushRecords = job.arguments.integer("flush-records", 20_000);
        long flushMs = job.arguments.whole("flush-ms", 1000);
        StreamTableEnvironment tables = StreamTableEnvironment.create(job.env);
        tables.getConfig().set("table.exec.mini-batch.enabled", "true");
        tables.getConfig().set("table.exec.mini-batch.allow-latency", flushMs + " ms");
        tables.getConfig().set("table.exec.mini-batch.size", String.valueOf(flushRecords));
        tables.getConfig().set("table.optimizer.agg-phase-strategy", "TWO_PHASE");

        DataStream<Bid> bids =
                job.source("bids", new Nexmark.Bids(job.sources), Bid.class).disableChaining();
        tables.createTemporaryView("bids", bids);
        Table totals =
                tables.sqlQuery(
                        "SELECT auction, COUNT(*) AS bids, MAX(price) AS highest,"
                                + " MAX(timeMs) AS newestMs FROM bids GROUP BY auction");
        Schema byAuction = Schema.newBuilder().primaryKey("auction").build();
        DataStream<Total> results =
                // Upserts: the next result of an auction replaces the one before.
                tables.toChangelogStream(totals, byAuction, ChangelogMode.upsert())
                        .map(new ToTotal())
                        .name("total");
        job.run("SqlTwoPhase", results);
    }

    public static class Total implements Result {
        public long auction;
        public long bids;
        public long highest;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String key() {
            return String.valueOf(auction);
        }

        @Override
        public String text() {
            return auction + " " + bids + " " + highest;
        }
    }

    private static final class ToTotal implements MapFunction<Row, Total> {
        private static final long serialVersionUID = 1L;

        @Override
        public Total map(Row row) {
            Total total = new Total();
            total.auction = row.<Long>getFieldAs("auction");
            total.bids = row.<Long>getFieldAs("bids");
            total.highest = row.<Long>getFieldAs("highest");
            total.newestMs = row.<Long>getFieldAs("newestMs");
            return total;
        }
    }
}
