package dev.edgeplace.flink;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.FieldVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.MethodVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;

/**
 * Reads from byte code which members a class has. It does not load the class: a class that is
 * loaded now would not get its hooks.
 */
final class Members extends ClassVisitor {
    private static final Map<String, Members> READ = new HashMap<>();

    private final Set<String> members = new HashSet<>();
    private final Set<String> names = new HashSet<>();
    private String superName;
    private String[] interfaces = {};

    private Members() {
        super(Opcodes.ASM9);
    }

    /**
     * Tells whether a class exists and, if {@code member} is not null, whether it or a supertype
     * declares that member.
     */
    static boolean exist(ClassLoader loader, String owner, String member, String descriptor) {
        Members found = of(loader, owner);
        if (found == null || member == null) {
            return found != null;
        }
        if (found.members.contains(member + descriptor)) {
            return true;
        }
        if (found.superName != null && exist(loader, found.superName, member, descriptor)) {
            return true;
        }
        for (String each : found.interfaces) {
            if (exist(loader, each, member, descriptor)) {
                return true;
            }
        }
        return false;
    }

    /** Tells whether a class itself declares a member of this name, whatever its type. */
    static boolean declares(ClassLoader loader, String owner, String name) {
        Members found = of(loader, owner);
        return found != null && found.names.contains(name);
    }

    private static synchronized Members of(ClassLoader loader, String name) {
        if (READ.containsKey(name)) {
            return READ.get(name);
        }
        Members members = null;
        try (InputStream in = loader.getResourceAsStream(name + ".class")) {
            if (in != null) {
                members = new Members();
                new ClassReader(in.readAllBytes()).accept(members, ClassReader.SKIP_CODE);
            }
        } catch (IOException e) {
            members = null;
        }
        READ.put(name, members);
        return members;
    }

    @Override
    public void visit(
            int version, int access, String name, String sig, String superName, String[] itfs) {
        this.superName = superName;
        this.interfaces = itfs == null ? new String[0] : itfs;
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String type, String s, String[] e) {
        names.add(name);
        members.add(name + type);
        return null;
    }

    @Override
    public FieldVisitor visitField(int access, String name, String type, String s, Object value) {
        names.add(name);
        members.add(name + type);
        return null;
    }
}
