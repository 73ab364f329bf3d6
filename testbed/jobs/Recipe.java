package testbed.jobs;

import java.io.Serializable;

/** How a source makes its records: the same call makes the same record at every replay. */
interface Recipe<T> extends Serializable {
    /**
     * Makes one record.
     *
     * @param site number of the source subtask, from 0
     * @param number of the record among those of the subtask, from 0
     * @param timeMs event time of the record
     */
    T make(int site, long number, long timeMs);
}
