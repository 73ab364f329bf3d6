/**
 * A Java agent that makes a stock Flink place subtasks by a plan.
 *
 * <p>This package knows files, options and byte code. The classes that use Flink's package-private
 * scheduler and slot manager stand in those packages: {@code
 * org.apache.flink.runtime.scheduler} (the JobMaster's side) and {@code
 * org.apache.flink.runtime.resourcemanager.slotmanager} (the ResourceManager's side).
 */
package dev.edgeplace.flink;
