package dev.edgeplace.flink.split;

import java.util.HashMap;
import java.util.Map;

import org.apache.flink.runtime.operators.coordination.OperatorCoordinator.SubtaskGateway;

/** What the JobManager knows of the routers of one split aggregate. */
final class Routers {
    /** The task behind the routers, as {@code KEY.shares} names it. */
    final String combine;
    /** Subtasks of that task, as the routers count them. */
    int workers;
    /** Router subtasks, 0 until one has reported. */
    int count;
    /** The weights in force; null for even ones. */
    Shares.OfTask shares;
    /** Counts the weights sent. */
    long version;
    /** Weights of a checkpoint that was restored before the start, or empty. */
    String restored = "";
    final Map<Integer, SubtaskGateway> gateways = new HashMap<>();
    final Map<Integer, RouterReport> reports = new HashMap<>();
    final Map<Integer, Slide> slides = new HashMap<>();

    Routers(String combine, int workers) {
        this.combine = combine;
        this.workers = workers;
    }

    /** Takes weights that fit, or null for even ones, and tells the routers. */
    void use(Shares.OfTask others) {
        shares = others;
        version++;
        gateways.keySet().forEach(this::send);
    }

    /** Tells a router its weights. */
    void send(int router) {
        SubtaskGateway gateway = gateways.get(router);
        if (gateway != null && shares != null) {
            gateway.sendEvent(new Weights(version, shares.of(router)));
        }
    }

    /** Returns how many routers use the weights in force. */
    long following() {
        long wanted = shares == null ? 0 : version;
        return reports.values().stream().filter(each -> each.version == wanted).count();
    }
}
