/**
 * A Java agent that makes a stock Flink place and rescale jobs by a plan.
 *
 * <p>This package has files, options and byte code. The classes that use package-private classes of
 * Flink are in Flink's packages: {@code org.apache.flink.runtime.scheduler} (the JobMaster's side)
 * and {@code org.apache.flink.runtime.resourcemanager.slotmanager} (the ResourceManager's side). The
 * classes that only rescaling needs are in {@code org.apache.flink.runtime.jobmaster}. If a release
 * of Flink lacks a member that these use, the agent places jobs and does not rescale them.
 */
package dev.edgeplace.flink;
