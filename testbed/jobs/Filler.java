package testbed.jobs;

/** Text that makes records as long as real ones; made once, as it is only there to be carried. */
final class Filler {
    private static final int TEXTS = 64;

    private final String[] texts = new String[TEXTS];

    /** Texts of so many letters, give or take a fifth. */
    Filler(int letters) {
        int spread = letters / 5;
        for (int i = 0; i < TEXTS; i++) {
            int length = letters - spread + i * 2 * spread / (TEXTS - 1);
            StringBuilder text = new StringBuilder();
            for (int at = 0; at < length; at++) {
                text.append((char) ('a' + Mix.below(26, Mix.of(i, at))));
            }
            texts[i] = text.toString();
        }
    }

    String text(long dice) {
        return texts[(int) (dice & (TEXTS - 1))];
    }
}
