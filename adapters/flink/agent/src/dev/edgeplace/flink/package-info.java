/**
 * A Java agent that makes a stock Flink place and rescale jobs by a plan.
 *
 * <p>This package knows files, options and byte code. The classes that use Flink's package-private
 * scheduler and slot manager stand in those packages: {@code
 * org.apache.flink.runtime.scheduler} (the JobMaster's side) and {@code
 * org.apache.flink.runtime.resourcemanager.slotmanager} (the ResourceManager's side). What only
 * rescaling needs stands in {@code org.apache.flink.runtime.jobmaster}: a Flink that lacks something
 * of it is one in which jobs are placed and not rescaled.
 */
package dev.edgeplace.flink;
