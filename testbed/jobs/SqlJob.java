package testbed.jobs;

import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Two INSERTs in one SQL statement set: a filter alone, and a filter with an aggregation behind it.
 *
 * <p>Arguments, each {@code key=value}:
 *
 * <ul>
 *   <li>{@code per-second}: rows of all source subtasks together, default 100
 *   <li>{@code parallelism}: of every operator, default 2
 *   <li>{@code chaining}: of operators, default true
 *   <li>{@code name}: of the job, default "sql"
 *   <li>{@code lowest}: the lowest reading of each sensor instead of their number, which another
 *       operator finds at the same place of the job graph; default false
 * </ul>
 */
public final class SqlJob {
    private static final String NUMBER =
            "SELECT sensor, COUNT(*) FROM sensors WHERE sensor < 50 GROUP BY sensor";
    private static final String LOWEST =
            "SELECT sensor, CAST(reading AS BIGINT) FROM (SELECT *, ROW_NUMBER() OVER"
                    + " (PARTITION BY sensor ORDER BY reading) AS place FROM sensors"
                    + " WHERE sensor < 50) WHERE place = 1";

    private SqlJob() {}

    public static void main(String[] args) {
        Arguments arguments = new Arguments(args);
        TableEnvironment table = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        set(table, "pipeline.name", arguments.text("name", "sql"));
        set(table, "parallelism.default", String.valueOf(arguments.integer("parallelism", 2)));
        set(table, "pipeline.operator-chaining.enabled", arguments.text("chaining", "true"));
        // The name of the option before Flink 1.19.
        set(table, "pipeline.operator-chaining", arguments.text("chaining", "true"));
        table.executeSql(
                "CREATE TABLE sensors (sensor INT, reading DOUBLE) WITH ('connector' = 'datagen',"
                        + " 'rows-per-second' = '" + arguments.whole("per-second", 100) + "',"
                        + " 'fields.sensor.min' = '0', 'fields.sensor.max' = '99')");
        table.executeSql(
                "CREATE TABLE alarms (sensor INT, reading DOUBLE)"
                        + " WITH ('connector' = 'blackhole')");
        table.executeSql(
                "CREATE TABLE counts (sensor INT, readings BIGINT)"
                        + " WITH ('connector' = 'blackhole')");
        StatementSet inserts = table.createStatementSet();
        inserts.addInsertSql("INSERT INTO alarms SELECT * FROM sensors WHERE reading > 0");
        boolean lowest = Boolean.parseBoolean(arguments.text("lowest", "false"));
        inserts.addInsertSql("INSERT INTO counts " + (lowest ? LOWEST : NUMBER));
        inserts.execute();
    }

    private static void set(TableEnvironment table, String option, String value) {
        table.getConfig().set(option, value);
    }
}
