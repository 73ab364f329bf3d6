package testbed.jobs;

/** What a job of the headline experiment finds out. */
interface Result {
    /** The event time of the newest record that has gone into it. */
    long newestMs();

    /** What it says, without times of the wall clock; see {@link Reference}. */
    String text();

    /** What it replaces the former result about, null if it stands beside all others. */
    default String key() {
        return null;
    }
}
