package testbed.jobs;

/**
 * The auction site of the Nexmark benchmark, in its usual proportions: 1 person to 3 auctions to 46
 * bids, of 200, 500 and 100 bytes on the average. Most bids are on a hot auction and by a hot
 * bidder, most auctions by a hot seller; the rest is spread over those of the recent past.
 *
 * <p>The sites share one world: the persons and auctions of an epoch exist for all of them. Other
 * than in Nexmark ids come round again, so that the state of a job that never ends has a limit, and
 * what a person is depends on its id alone.
 */
final class Nexmark {
    static final int PERSONS = 10_000;
    static final int AUCTIONS = 30_000;
    private static final int AUCTIONS_PER_EPOCH = 3;
    private static final int BIDS_PER_EPOCH = 46;
    private static final int FIRST_ID = 1000;
    private static final int FIRST_CATEGORY = 10;
    private static final int CATEGORIES = 5;
    private static final int HOT_AUCTION_RATIO = 2;
    private static final int HOT_SELLER_RATIO = 4;
    private static final int HOT_BIDDER_RATIO = 4;
    // So many epochs or auctions in a row have the same hot one.
    private static final int HOT_FOR = 100;
    private static final int RECENT_AUCTIONS = 100;
    private static final int RECENT_PERSONS = 1000;
    private static final String[] STATES = {"AZ", "CA", "ID", "OR", "WA", "WY"};
    private static final String[] CITIES = {
        "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond",
        "Seattle", "Kent", "Cheyenne"
    };

    private Nexmark() {}

    public static class Person {
        public long id;
        public String name;
        public String email;
        public String creditCard;
        public String city;
        public String state;
        public long timeMs;
        public String extra;
    }

    public static class Auction {
        public long id;
        public String item;
        public String description;
        public long initialBid;
        public long reserve;
        public long timeMs;
        public long expiresMs;
        public long seller;
        public long category;
        public String extra;
    }

    public static class Bid {
        public long auction;
        public long bidder;
        public long price;
        public long timeMs;
        public String extra;
    }

    /** A person or an auction; the other is null. */
    public static class Event {
        public Person person;
        public Auction auction;
    }

    /** Bids alone. */
    static final class Bids implements Recipe<Bid> {
        private static final long serialVersionUID = 1L;
        private static final Filler EXTRA = new Filler(48);

        private final int sites;

        Bids(int sites) {
            this.sites = sites;
        }

        @Override
        public Bid make(int site, long number, long timeMs) {
            long epoch = number / BIDS_PER_EPOCH * sites + site;
            long dice = Mix.of(site, number);
            Bid bid = new Bid();
            bid.auction = auctionId(someAuction(epoch, dice));
            bid.bidder = personId(somePerson(epoch, HOT_BIDDER_RATIO, Mix.mix(dice)));
            bid.price = price(dice);
            bid.timeMs = timeMs;
            bid.extra = EXTRA.text(dice);
            return bid;
        }
    }

    /** Persons and auctions, one to three. */
    static final class PersonsAndAuctions implements Recipe<Event> {
        private static final long serialVersionUID = 1L;
        private static final int EVENTS_PER_EPOCH = 1 + AUCTIONS_PER_EPOCH;
        private static final Filler PERSON_EXTRA = new Filler(90);
        private static final Filler ITEM = new Filler(20);
        private static final Filler DESCRIPTION = new Filler(100);
        private static final Filler AUCTION_EXTRA = new Filler(290);

        private final int sites;

        PersonsAndAuctions(int sites) {
            this.sites = sites;
        }

        @Override
        public Event make(int site, long number, long timeMs) {
            long epoch = number / EVENTS_PER_EPOCH * sites + site;
            int inEpoch = (int) (number % EVENTS_PER_EPOCH);
            Event event = new Event();
            if (inEpoch == 0) {
                event.person = person(epoch, timeMs);
            } else {
                long auction = epoch * AUCTIONS_PER_EPOCH + inEpoch - 1;
                event.auction = auction(epoch, auction, Mix.of(site, number), timeMs);
            }
            return event;
        }

        private static Person person(long epoch, long timeMs) {
            Person person = new Person();
            person.id = personId(epoch);
            long dice = Mix.mix(person.id);
            person.name = "Person " + Long.toString(dice >>> 40, 36);
            person.email = Long.toString(dice >>> 24, 36) + "@example.com";
            person.creditCard = Long.toString(dice >>> 10);
            person.city = CITIES[Mix.below(CITIES.length, Mix.mix(dice))];
            person.state = STATES[Mix.below(STATES.length, dice)];
            person.timeMs = timeMs;
            person.extra = PERSON_EXTRA.text(dice);
            return person;
        }

        private static Auction auction(long epoch, long number, long dice, long timeMs) {
            Auction auction = new Auction();
            auction.id = auctionId(number);
            auction.item = ITEM.text(dice);
            auction.description = DESCRIPTION.text(dice >> 8);
            auction.initialBid = price(dice);
            auction.reserve = auction.initialBid + price(Mix.mix(dice));
            auction.timeMs = timeMs;
            auction.expiresMs = timeMs + 10_000;
            auction.seller = personId(somePerson(epoch, HOT_SELLER_RATIO, Mix.mix(~dice)));
            auction.category = FIRST_CATEGORY + Mix.below(CATEGORIES, dice);
            auction.extra = AUCTION_EXTRA.text(dice >> 16);
            return auction;
        }
    }

    private static long personId(long number) {
        return FIRST_ID + number % PERSONS;
    }

    private static long auctionId(long number) {
        return FIRST_ID + number % AUCTIONS;
    }

    private static long someAuction(long epoch, long dice) {
        long newest = (epoch + 1) * AUCTIONS_PER_EPOCH - 1;
        if (Mix.below(HOT_AUCTION_RATIO, dice) > 0) {
            return newest / HOT_FOR * HOT_FOR;
        }
        return newest - recent(newest, RECENT_AUCTIONS, Mix.mix(dice + 1));
    }

    private static long somePerson(long newest, int hotRatio, long dice) {
        if (Mix.below(hotRatio, dice) > 0) {
            return newest / HOT_FOR * HOT_FOR;
        }
        return newest - recent(newest, RECENT_PERSONS, Mix.mix(dice + 1));
    }

    private static int recent(long newest, int most, long dice) {
        return Mix.below((int) Math.min(newest + 1, most), dice);
    }

    /** In cents, from 1 to 1,000,000 dollars: each power of ten is as likely as the others. */
    private static long price(long dice) {
        return Math.round(StrictMath.pow(10, Mix.unit(Mix.mix(dice - 1)) * 6) * 100);
    }
}
