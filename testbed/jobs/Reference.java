package testbed.jobs;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import testbed.jobs.Nexmark.Auction;
import testbed.jobs.Nexmark.Bid;
import testbed.jobs.Nexmark.Event;
import testbed.jobs.Nexmark.Person;

/**
 * What a job of the headline experiment must find out, by plain loops over all records and without
 * Flink. Prints the JSON that the job's sink writes with {@code clock=synthetic}.
 *
 * <p>Arguments: {@code job}, e.g. NexmarkQ5, and those of the job; {@code records} is needed. For
 * TDigest the latest results are not {@code count median}, but {@code count low high}: the values
 * between which the median must lie by the published error of the sketch.
 */
public final class Reference {
    private final Arguments arguments;
    private final Findings findings = new Findings();

    private Reference(Arguments arguments) {
        this.arguments = arguments;
    }

    public static void main(String[] args) {
        System.out.print(of(new Arguments(args)));
    }

    private static String of(Arguments arguments) {
        Reference reference = new Reference(arguments);
        String job = arguments.text("job");
        switch (job) {
            case "NexmarkQ1":
                reference.nexmarkQ1();
                break;
            case "NexmarkQ2":
                reference.nexmarkQ2();
                break;
            case "NexmarkQ3":
                reference.nexmarkQ3();
                break;
            case "NexmarkQ5":
                reference.nexmarkQ5();
                break;
            case "NexmarkQ8":
                reference.nexmarkQ8();
                break;
            case "NexmarkQ11":
                reference.nexmarkQ11();
                break;
            case "SelectiveFilter":
                reference.selectiveFilter();
                break;
            case "ShrinkingPipeline":
                reference.shrinkingPipeline();
                break;
            case "WordCount":
                reference.wordCount();
                break;
            case "TDigest":
                reference.tDigest();
                break;
            case "SqlTwoPhase":
                reference.sqlTwoPhase();
                break;
            default:
                throw new IllegalArgumentException("no such job: " + job);
        }
        return reference.findings.json();
    }

    private void nexmarkQ1() {
        bids(bid -> add(bid.auction, bid.bidder, bid.price * 908 / 1000));
    }

    private void nexmarkQ2() {
        int every = arguments.integer("every", NexmarkQ2.EVERY);
        bids(
                bid -> {
                    if (bid.auction % every == 0) {
                        add(bid.auction, bid.price);
                    }
                });
    }

    private void nexmarkQ3() {
        Map<Long, String> sellers = new HashMap<>();
        List<Auction> wanted = new ArrayList<>();
        events(
                person -> {
                    if (NexmarkQ3.STATES.contains(person.state)) {
                        sellers.put(
                                person.id, person.name + "," + person.city + "," + person.state);
                    }
                },
                auction -> {
                    if (auction.category == NexmarkQ3.CATEGORY) {
                        wanted.add(auction);
                    }
                });
        for (Auction auction : wanted) {
            if (sellers.containsKey(auction.seller)) {
                findings.add(sellers.get(auction.seller) + "," + auction.id);
            }
        }
    }

    private void nexmarkQ5() {
        long windowMs = arguments.whole("window-ms", NexmarkQ5.WINDOW_MS);
        long slideMs = arguments.whole("slide-ms", NexmarkQ5.SLIDE_MS);
        Map<Long, Map<Long, Long>> windows = new TreeMap<>();
        bids(
                bid -> {
                    long firstEndMs = (bid.timeMs / slideMs + 1) * slideMs;
                    for (long end = firstEndMs; end - windowMs <= bid.timeMs; end += slideMs) {
                        windows.computeIfAbsent(end, none -> new TreeMap<>())
                                .merge(bid.auction, 1L, Long::sum);
                    }
                });
        windows.forEach(
                (end, counts) -> {
                    long most = counts.values().stream().max(Long::compare).orElseThrow();
                    for (Map.Entry<Long, Long> each : counts.entrySet()) {
                        if (each.getValue() == most) {
                            add(end, each.getKey(), most);
                            return;
                        }
                    }
                });
    }

    private void nexmarkQ8() {
        long windowMs = arguments.whole("window-ms", NexmarkQ8.WINDOW_MS);
        Set<String> newcomers = new HashSet<>();
        Set<List<Long>> openings = new HashSet<>();
        events(
                person ->
                        newcomers.add(
                                windowEnd(person.timeMs, windowMs)
                                        + "," + person.id + "," + person.name),
                auction -> openings.add(
                        List.of(windowEnd(auction.timeMs, windowMs), auction.seller)));
        for (String newcomer : newcomers) {
            String[] parts = newcomer.split(",");
            if (openings.contains(List.of(Long.valueOf(parts[0]), Long.valueOf(parts[1])))) {
                findings.add(newcomer);
            }
        }
    }

    private static long windowEnd(long timeMs, long windowMs) {
        return timeMs - timeMs % windowMs + windowMs;
    }

    private void nexmarkQ11() {
        long gapMs = arguments.whole("gap-ms", NexmarkQ11.GAP_MS);
        Map<Long, List<Long>> times = new HashMap<>();
        bids(bid -> times.computeIfAbsent(bid.bidder, none -> new ArrayList<>()).add(bid.timeMs));
        times.forEach(
                (bidder, sorted) -> {
                    sorted.sort(Long::compare);
                    int first = 0;
                    for (int i = 1; i <= sorted.size(); i++) {
                        if (i == sorted.size() || sorted.get(i) - sorted.get(i - 1) > gapMs) {
                            add(bidder, sorted.get(first), i - first);
                            first = i;
                        }
                    }
                });
    }

    private void selectiveFilter() {
        double selectivity = arguments.decimal("selectivity", SelectiveFilter.SELECTIVITY);
        int recordBytes = arguments.integer("record-bytes", SelectiveFilter.RECORD_BYTES);
        each(
                new SelectiveFilter.Readings(recordBytes),
                reading -> {
                    if (Mix.unit(reading.value) < selectivity) {
                        add(reading.sensor, reading.value);
                    }
                });
    }

    private void shrinkingPipeline() {
        each(
                new ShrinkingPipeline.Images(),
                image -> {
                    int[] small = shrunk(image.pixels);
                    StringBuilder text =
                            new StringBuilder(image.camera + " " + image.number);
                    for (int output = 0; output < ShrinkingPipeline.CLASSES; output++) {
                        text.append(' ').append(score(output, small));
                    }
                    findings.add(text.toString());
                });
    }

    private static int[] shrunk(byte[] pixels) {
        int[] small = new int[ShrinkingPipeline.SMALL_WIDTH * ShrinkingPipeline.SMALL_HEIGHT];
        int boxWidth = ShrinkingPipeline.WIDTH / ShrinkingPipeline.SMALL_WIDTH;
        for (int box = 0; box < small.length; box++) {
            int left = box % ShrinkingPipeline.SMALL_WIDTH * boxWidth;
            int row = box / ShrinkingPipeline.SMALL_WIDTH;
            int top = firstLine(row);
            int bottom = firstLine(row + 1);
            int sum = 0;
            for (int y = top; y < bottom; y++) {
                for (int x = left; x < left + boxWidth; x++) {
                    sum += Byte.toUnsignedInt(pixels[y * ShrinkingPipeline.WIDTH + x]);
                }
            }
            small[box] = sum / (boxWidth * (bottom - top));
        }
        return small;
    }

    private static int firstLine(int row) {
        return (int) Math.ceil(
                row * (double) ShrinkingPipeline.HEIGHT / ShrinkingPipeline.SMALL_HEIGHT);
    }

    private static long score(int output, int[] small) {
        long score = 0;
        for (int unit = 0; unit < ShrinkingPipeline.HIDDEN; unit++) {
            long activation = 0;
            for (int input = 0; input < small.length; input++) {
                activation += (long) ShrinkingPipeline.weight(unit, input) * small[input];
            }
            if (activation > 0) {
                score += ShrinkingPipeline.weight(output, unit) * activation;
            }
        }
        return score;
    }

    private void wordCount() {
        Map<String, Integer> counts = new HashMap<>();
        each(
                new WordCount.Sentences(),
                sentence -> {
                    for (String word : sentence.text.split(" ")) {
                        counts.merge(word, 1, Integer::sum);
                    }
                });
        counts.forEach((word, count) -> findings.put(word, word + " " + count));
    }

    private void tDigest() {
        Map<Long, List<Double>> values = new HashMap<>();
        each(
                new TDigest.Measurements(),
                measurement ->
                        values.computeIfAbsent(measurement.quantity, none -> new ArrayList<>())
                                .add(measurement.value));
        double error = Math.PI / QuantileSketch.COMPRESSION / 2;
        values.forEach(
                (quantity, list) -> {
                    double[] sorted = list.stream().mapToDouble(value -> value).sorted().toArray();
                    double low = sorted[(int) Math.floor((0.5 - error) * (sorted.length - 1))];
                    double high = sorted[(int) Math.ceil((0.5 + error) * (sorted.length - 1))];
                    findings.put(
                            String.valueOf(quantity), sorted.length + " " + low + " " + high);
                });
    }

    private void sqlTwoPhase() {
        Map<Long, long[]> totals = new HashMap<>();
        bids(
                bid -> {
                    long[] total = totals.computeIfAbsent(bid.auction, none -> new long[2]);
                    total[0]++;
                    total[1] = Math.max(total[1], bid.price);
                });
        totals.forEach(
                (auction, total) ->
                        findings.put(
                                String.valueOf(auction),
                                auction + " " + total[0] + " " + total[1]));
    }

    private void bids(Consumer<Bid> use) {
        each(new Nexmark.Bids(sites()), use);
    }

    private void events(Consumer<Person> person, Consumer<Auction> auction) {
        each(
                new Nexmark.PersonsAndAuctions(sites()),
                (Event event) -> {
                    if (event.person != null) {
                        person.accept(event.person);
                    } else {
                        auction.accept(event.auction);
                    }
                });
    }

    private <T> void each(Recipe<T> recipe, Consumer<T> use) {
        long records = Long.parseLong(arguments.text("records"));
        Clock clock = Clock.of(arguments);
        if (!clock.isSynthetic()) {
            throw new IllegalArgumentException("only clock=synthetic has results known before");
        }
        for (int site = 0; site < sites(); site++) {
            for (long number = 0; number < records; number++) {
                use.accept(recipe.make(site, number, clock.timeMs(number)));
            }
        }
    }

    private int sites() {
        return arguments.integer("sources", HeadlineJob.SOURCES);
    }

    private void add(long... numbers) {
        StringBuilder text = new StringBuilder();
        for (long number : numbers) {
            text.append(text.length() == 0 ? "" : " ").append(number);
        }
        findings.add(text.toString());
    }
}
