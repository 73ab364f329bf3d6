package dev.edgeplace.flink;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.math.BigDecimal;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.api.common.resources.ExternalResource;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;

/**
 * Slot sizes, each of which means one TaskManager.
 *
 * <p>Flink gives a slot to a request only if their resource profiles are equal. So the size of a
 * slot can say where the slot is. It is the size of the TaskManager's own slots, minus some bytes of
 * heap and some hundred-millionths of a core. These depend only on the resource id: a restarted
 * JobManager knows the slots that the TaskManagers offer it.
 */
public final class SlotFingerprints {
    private static final int HEAP_BITS = 16;
    private static final int CPU_BITS = 16;
    /** The finest step that Flink's resources keep. */
    private static final BigDecimal CPU_STEP = new BigDecimal("0.00000001");

    private static final ConcurrentHashMap<ResourceProfile, String> RESOURCE_IDS =
            new ConcurrentHashMap<>();

    private SlotFingerprints() {}

    /**
     * Returns the size of a slot that means this TaskManager.
     *
     * @param size the wanted size; the result has up to 64 KiB and 0.0007 cores less
     */
    public static ResourceProfile of(String resourceId, ResourceProfile size) {
        for (int probe = 0; ; probe++) {
            String hash = PlansFolder.sha256((resourceId + "/" + probe).getBytes(UTF_8));
            ResourceProfile marked = marked(size, Integer.parseUnsignedInt(hash.substring(0, 8), 16));
            String other = RESOURCE_IDS.putIfAbsent(marked, resourceId);
            if (other == null || other.equals(resourceId)) {
                return marked;
            }
        }
    }

    /** Returns the TaskManager that a slot's size means, or null if it means none. */
    public static String resourceId(ResourceProfile size) {
        return RESOURCE_IDS.get(size);
    }

    private static ResourceProfile marked(ResourceProfile size, int mark) {
        long heap = size.getTaskHeapMemory().getBytes() - (mark & ((1 << HEAP_BITS) - 1)) - 1;
        BigDecimal cpu =
                size.getCpuCores()
                        .getValue()
                        .subtract(
                                CPU_STEP.multiply(
                                        BigDecimal.valueOf(
                                                (mark >>> HEAP_BITS) & ((1 << CPU_BITS) - 1))));
        ResourceProfile.Builder builder =
                ResourceProfile.newBuilder()
                        .setCpuCores(Math.max(0, cpu.doubleValue()))
                        .setTaskHeapMemory(new MemorySize(Math.max(0, heap)))
                        .setTaskOffHeapMemory(size.getTaskOffHeapMemory())
                        .setManagedMemory(size.getManagedMemory())
                        .setNetworkMemory(size.getNetworkMemory());
        for (ExternalResource each : size.getExtendedResources().values()) {
            builder.setExtendedResource(each);
        }
        return builder.build();
    }
}
