/**
 * A keyed aggregate in two steps, {@code combine -> HASH -> merge}, with a router in front that
 * spreads hot keys by weights. {@code docs/keys.md} is its page for users.
 *
 * <p>{@link dev.edgeplace.flink.split.SplitAggregate} is what a job calls. The rest is internal. It
 * compiles against Flink 2.3 and uses only what 1.18 has, too.
 */
package dev.edgeplace.flink.split;
