package cuesta.mapreduce;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/**
 * The process that does the tasks or the part of one of Hadoop's tasks, over its pipes.
 *
 * <p>It is told a number, with bytes where these are a piece of a block for it, and tells three
 * numbers and bytes at a time; each side ends with {@link #END}, it with its processor time behind
 * that. While it lives, Hadoop is told that its task makes progress: how long a task takes is no
 * sign that it hangs.
 */
final class Child implements Closeable {
  static final int END = -1;
  private static final int PIPE_BYTES = 1 << 16;
  private static final int BEAT_MS = 5000;

  /**
   * Counters of a task, for its job's history: when its JVM had started, when it began, and the
   * processor time of the child, which Hadoop does not count once it has ended.
   */
  static final String TIMES = "cuesta";

  static final String CHILD_CPU = "CHILD_CPU_MS";

  private static final String JVM_STARTED = "JVM_STARTED_MS";
  private static final String BEGAN = "BEGAN_MS";
  private static final Set<Process> LIVING = ConcurrentHashMap.newKeySet();

  private final Process process;
  private final DataInputStream told;
  private final DataOutputStream asked;
  private final Thread errors;
  private final Thread beat;
  private volatile String lastLine = "it said nothing";

  /** Starts one that does `role`: `tasks`, or `part` with its number. */
  Child(TaskAttemptContext context, String... role) throws IOException {
    Configuration conf = context.getConfiguration();
    long started = ManagementFactory.getRuntimeMXBean().getStartTime();
    context.getCounter(TIMES, JVM_STARTED).setValue(started);
    context.getCounter(TIMES, BEGAN).setValue(System.currentTimeMillis());
    // Paths may hold what means something to Hadoop: neither is looked for here.
    List<String> words = new ArrayList<>();
    words.add(conf.getRaw(Settings.PYTHON));
    words.addAll(Arrays.asList("-P", "-m", Settings.MODULE, conf.getRaw(Settings.FOLDER)));
    words.addAll(Arrays.asList(role));
    process = new ProcessBuilder(words).start();
    LIVING.add(process);
    told = new DataInputStream(new BufferedInputStream(process.getInputStream(), PIPE_BYTES));
    asked = new DataOutputStream(new BufferedOutputStream(process.getOutputStream(), PIPE_BYTES));
    errors = started(() -> copyStandardError(process.getErrorStream()));
    beat = started(() -> tellProgress(context));
  }

  /** Kills all of this JVM. */
  static void killAll() {
    LIVING.forEach(Process::destroyForcibly);
  }

  /** Sends the number of a task; {@link #passOn} then waits until the child has done it. */
  void ask(int number) throws IOException {
    try {
      TypedBytes.write(asked, number);
      asked.flush();
    } catch (IOException broken) {
      throw early();
    }
  }

  /** Gives it the next piece of a block. */
  void give(int number, BytesWritable piece) throws IOException {
    try {
      TypedBytes.write(asked, number);
      TypedBytes.write(asked, piece.getBytes(), piece.getLength());
    } catch (IOException broken) {
      throw early();
    }
  }

  /** Says that nothing more will be asked or given. */
  void end() throws IOException {
    ask(END);
  }

  /** Writes the child's blocks to {@code output}, until it has answered the last number. */
  void passOn(Output output) throws IOException, InterruptedException {
    try {
      for (int part = TypedBytes.readInt(told); part != END; part = TypedBytes.readInt(told)) {
        BlockKey key = new BlockKey(part, TypedBytes.readInt(told), TypedBytes.readInt(told));
        output.write(key, new BytesWritable(TypedBytes.readBytes(told)));
      }
    } catch (EOFException end) {
      throw early();
    }
  }

  /** Adds the processor time that the child sends last to its counter. */
  void countCpuTime(TaskAttemptContext context) throws IOException {
    try {
      context.getCounter(TIMES, CHILD_CPU).increment(TypedBytes.readInt(told));
    } catch (EOFException end) {
      throw early();
    }
  }

  /** Receiver of the messages of a child. */
  interface Output {
    void write(BlockKey key, BytesWritable bytes) throws IOException, InterruptedException;
  }

  /** Why the pipe has ended: what the child said last. */
  private IOException early() {
    try {
      int code = process.waitFor();
      errors.join();
      return new IOException("a child has ended with code " + code + ": " + lastLine);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return new InterruptedIOException();
    }
  }

  /** Copies the child's standard error to the log of the task, and saves its last line. */
  private void copyStandardError(InputStream stream) {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        System.err.println(line);
        lastLine = line;
      }
    } catch (IOException error) {
      // It was killed.
    }
  }

  private void tellProgress(TaskAttemptContext context) {
    try {
      while (process.isAlive()) {
        context.progress();
        Thread.sleep(BEAT_MS);
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private static Thread started(Runnable work) {
    Thread made = new Thread(work);
    made.setDaemon(true);
    made.start();
    return made;
  }

  @Override
  public void close() {
    process.destroyForcibly();
    LIVING.remove(process);
    beat.interrupt();
  }
}
