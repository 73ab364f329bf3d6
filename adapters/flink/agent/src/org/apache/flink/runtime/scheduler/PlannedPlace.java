package org.apache.flink.runtime.scheduler;

import org.apache.flink.api.common.resources.ExternalResource;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;

/**
 * Carries a location through the scheduler, in the resource profile of a slot sharing group. Such a
 * profile does not leave the JobMaster: {@link PlannedSlotProvider} asks for real sizes.
 */
final class PlannedPlace {
    private static final String MARK = "edgeplace/";

    private PlannedPlace() {}

    /** Returns a profile with a location and with the resources that the user asked for. */
    static ResourceProfile profile(String location, ResourceProfile asked) {
        ResourceProfile.Builder profile =
                isUnknown(asked) ? ResourceProfile.newBuilder() : ResourceProfile.newBuilder(asked);
        return profile.setExtendedResource(new ExternalResource(MARK + location, 1)).build();
    }

    /** Returns the location that a profile carries, or null. */
    static String location(ResourceProfile profile) {
        if (isUnknown(profile)) {
            return null;
        }
        for (String name : profile.getExtendedResources().keySet()) {
            if (name.startsWith(MARK)) {
                return name.substring(MARK.length());
            }
        }
        return null;
    }

    /** Returns the resources that the user asked for, or else those of the TaskManager's slots. */
    static ResourceProfile size(ResourceProfile asked, ResourceProfile defaultSlot) {
        if (isUnknown(asked)) {
            return defaultSlot;
        }
        ResourceProfile.Builder size =
                ResourceProfile.newBuilder()
                        .setCpuCores(asked.getCpuCores().getValue().doubleValue())
                        .setTaskHeapMemory(asked.getTaskHeapMemory())
                        .setTaskOffHeapMemory(asked.getTaskOffHeapMemory())
                        .setManagedMemory(asked.getManagedMemory())
                        .setNetworkMemory(asked.getNetworkMemory());
        for (ExternalResource each : asked.getExtendedResources().values()) {
            if (!each.getName().startsWith(MARK)) {
                size.setExtendedResource(each);
            }
        }
        ResourceProfile built = size.build();
        return built.equals(ResourceProfile.ZERO) ? defaultSlot : built;
    }

    private static boolean isUnknown(ResourceProfile profile) {
        return profile.equals(ResourceProfile.UNKNOWN);
    }
}
