package cuesta.mapreduce;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;

/**
 * The process that does the tasks or the part of one of Hadoop's tasks, over its pipes.
 *
 * <p>It is told a number, with bytes where these are a block for it, and tells triples of two
 * numbers and bytes; each side ends with {@link #END}.
 */
final class Child implements Closeable {
  static final int END = -1;
  private static final int PIPE_BYTES = 1 << 16;

  private final Path errors;
  private final Process process;
  private final DataInputStream told;
  private final DataOutputStream asked;

  /** What a child has told: a block for a part, or what a task or a part has found. */
  record Told(int key, int number, byte[] bytes) {}

  /** Starts one that does `role`: `tasks`, or `part` with its number. */
  Child(Configuration conf, String... role) throws IOException {
    List<String> words = new ArrayList<>(List.of(conf.getStrings(Settings.CHILD)));
    words.add(conf.get(Settings.FOLDER));
    words.addAll(List.of(role));
    errors = Files.createTempFile("cuesta-child", ".err");
    process = new ProcessBuilder(words).redirectError(errors.toFile()).start();
    told = new DataInputStream(new BufferedInputStream(process.getInputStream(), PIPE_BYTES));
    asked = new DataOutputStream(new BufferedOutputStream(process.getOutputStream(), PIPE_BYTES));
  }

  /** Has it do a task; what it sends comes by {@link #next} until that is null. */
  void ask(int number) throws IOException {
    try {
      TypedBytes.write(asked, number);
      asked.flush();
    } catch (IOException broken) {
      throw early();
    }
  }

  /** Gives it a block. */
  void give(int number, BytesWritable block) throws IOException {
    try {
      TypedBytes.write(asked, number);
      TypedBytes.write(asked, block.getBytes(), block.getLength());
    } catch (IOException broken) {
      throw early();
    }
  }

  /** Says that nothing more will be asked or given. */
  void end() throws IOException {
    ask(END);
  }

  /** What it tells next; null after the last of what it was asked for. */
  Told next() throws IOException {
    try {
      int key = TypedBytes.readInt(told);
      return key == END
          ? null
          : new Told(key, TypedBytes.readInt(told), TypedBytes.readBytes(told));
    } catch (EOFException end) {
      throw early();
    }
  }

  /** Why the pipe has ended: what the child said last. */
  private IOException early() throws IOException {
    try {
      int code = process.waitFor();
      List<String> said = Files.readAllLines(errors);
      String last = said.isEmpty() ? "it said nothing" : said.get(said.size() - 1);
      return new IOException("a child has ended with code " + code + ": " + last);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return new InterruptedIOException();
    }
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly();
    // For whoever reads the log of the task.
    Files.copy(errors, System.err);
    Files.delete(errors);
  }
}
