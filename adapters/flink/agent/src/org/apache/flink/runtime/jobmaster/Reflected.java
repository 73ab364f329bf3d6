package org.apache.flink.runtime.jobmaster;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

import dev.edgeplace.flink.ReflectedMember;

/** Access to private members of Flink. {@code FlinkCheck} has found them when the agent started. */
final class Reflected {
    private Reflected() {}

    static Object get(Class<?> owner, Object of, ReflectedMember member) {
        try {
            return field(owner, member).get(of);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sets a field. It may be final: Flink reads the field again at each use. */
    static void set(Class<?> owner, Object of, ReflectedMember member, Object value) {
        try {
            field(owner, member).set(of, value);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the only method of this name. */
    static Method method(Class<?> owner, ReflectedMember member) {
        for (Method each : owner.getDeclaredMethods()) {
            if (each.getName().equals(member.memberName)) {
                each.setAccessible(true);
                return each;
            }
        }
        throw new IllegalStateException(owner + " has no " + member.memberName);
    }

    /** Calls a method. An exception of it is the cause of an IllegalStateException. */
    static Object call(Class<?> owner, Object of, ReflectedMember member, Object... arguments) {
        try {
            return method(owner, member).invoke(of, arguments);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(Class<?> owner, ReflectedMember member) throws NoSuchFieldException {
        Field field = owner.getDeclaredField(member.memberName);
        field.setAccessible(true);
        return field;
    }
}
