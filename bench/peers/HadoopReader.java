import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.ReadOption;

/**
 * Reads a file by way of Hadoop through a store or beside it, and takes the time itself.
 *
 * <p>{@code java -cp JARS HadoopReader.java FOLDER NAME UNDER}: as {@code
 * crates/store/examples/speed.rs}, each line on standard input names a measurement, and is answered
 * by its seconds and a sum of the words that were read.
 */
final class HadoopReader {
  private static final int PIECE_BYTES = 1 << 20;
  private static final int PART_BYTES = 64 << 20;
  private static final int WARM_UP = 3;

  private final FileSystem system;
  private final org.apache.hadoop.fs.Path name;
  private final Path under;
  private final ByteBuffer direct = words(ByteBuffer.allocateDirect(PIECE_BYTES));
  private final byte[] heap = new byte[PIECE_BYTES];
  private final List<ByteBuffer> views = new ArrayList<>();
  private final List<byte[]> arrays = new ArrayList<>();
  private final List<ByteBuffer> buffers = new ArrayList<>();

  private HadoopReader(String folder, String name, String under) throws IOException {
    Configuration conf = new Configuration();
    conf.set("fs.cuesta.store", folder);
    this.system = FileSystem.get(URI.create("cuesta:///"), conf);
    this.name = new org.apache.hadoop.fs.Path("cuesta://" + name);
    this.under = Path.of(under);
  }

  private interface Measurement {
    long run() throws IOException;
  }

  public static void main(String[] words) throws Exception {
    HadoopReader reader = new HadoopReader(words[0], words[1], words[2]);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      Measurement measurement = reader.measurement(line);
      // Compiled before, as what it is beside.
      for (int i = 0; i < WARM_UP; i++) {
        measurement.run();
      }
      long started = System.nanoTime();
      long found = measurement.run();
      double seconds = (System.nanoTime() - started) / 1e9;
      System.out.printf("%.9f %s%n", seconds, Long.toUnsignedString(found));
    }
  }

  private Measurement measurement(String kind) throws IOException {
    switch (kind) {
      case "mapped":
        hold();
        return () -> sum(views);
      case "private":
        fetch();
        return () -> sum(buffers);
      case "buffer":
        return this::readBuffer;
      case "array":
        return this::readArray;
      case "raw buffer":
        return this::rawBuffer;
      case "memcpy buffer":
        fetch();
        return this::copyBuffers;
      case "memcpy":
        fetchArrays();
        return this::copyArrays;
      default:
        throw new IOException(kind + " is not known");
    }
  }

  /** All bytes copied to a buffer outside the heap. */
  private long readBuffer() throws IOException {
    long found = 0;
    try (FSDataInputStream in = system.open(name)) {
      for (direct.clear(); in.read(direct) > 0; direct.clear()) {
        found += direct.getLong(0);
      }
    }
    return found;
  }

  /** All bytes copied to an array. */
  private long readArray() throws IOException {
    ByteBuffer view = words(ByteBuffer.wrap(heap));
    long found = 0;
    try (FSDataInputStream in = system.open(name)) {
      while (in.read(heap) > 0) {
        found += view.getLong(0);
      }
    }
    return found;
  }

  private long rawBuffer() throws IOException {
    long found = 0;
    try (FileChannel in = FileChannel.open(under)) {
      for (direct.clear(); in.read(direct) > 0; direct.clear()) {
        found += direct.getLong(0);
      }
    }
    return found;
  }

  private long copyBuffers() {
    long found = 0;
    for (ByteBuffer part : buffers) {
      for (int at = 0; at < part.limit(); at += PIECE_BYTES) {
        direct.put(0, part, at, Math.min(PIECE_BYTES, part.limit() - at));
        found += direct.getLong(0);
      }
    }
    return found;
  }

  private long copyArrays() {
    ByteBuffer view = words(ByteBuffer.wrap(heap));
    long found = 0;
    for (byte[] part : arrays) {
      for (int at = 0; at < part.length; at += PIECE_BYTES) {
        System.arraycopy(part, at, heap, 0, Math.min(PIECE_BYTES, part.length - at));
        found += view.getLong(0);
      }
    }
    return found;
  }

  private void hold() throws IOException {
    if (views.isEmpty()) {
      FSDataInputStream in = system.open(name);
      EnumSet<ReadOption> none = EnumSet.noneOf(ReadOption.class);
      for (ByteBuffer view; (view = in.read(null, Integer.MAX_VALUE, none)) != null; ) {
        views.add(words(view));
      }
    }
  }

  private void fetch() throws IOException {
    if (buffers.isEmpty()) {
      try (FileChannel in = FileChannel.open(under)) {
        for (long at = 0; at < in.size(); at += PART_BYTES) {
          int count = (int) Math.min(PART_BYTES, in.size() - at);
          ByteBuffer part = ByteBuffer.allocateDirect(count);
          while (part.hasRemaining()) {
            in.read(part, at + part.position());
          }
          buffers.add(words(part.flip()));
        }
      }
    }
  }

  private void fetchArrays() throws IOException {
    if (arrays.isEmpty()) {
      fetch();
      for (ByteBuffer part : buffers) {
        byte[] array = new byte[part.limit()];
        part.get(0, array);
        arrays.add(array);
      }
      buffers.clear();
    }
  }

  private static ByteBuffer words(ByteBuffer buffer) {
    return buffer.order(ByteOrder.LITTLE_ENDIAN);
  }

  private static long sum(List<ByteBuffer> parts) {
    long found = 0;
    for (ByteBuffer part : parts) {
      found += sum(part);
    }
    return found;
  }

  private static long sum(ByteBuffer part) {
    int end = part.limit() / Long.BYTES * Long.BYTES;
    long a = 0;
    long b = 0;
    long c = 0;
    long d = 0;
    int at = 0;
    for (; at + 4 * Long.BYTES <= end; at += 4 * Long.BYTES) {
      a += part.getLong(at);
      b += part.getLong(at + Long.BYTES);
      c += part.getLong(at + 2 * Long.BYTES);
      d += part.getLong(at + 3 * Long.BYTES);
    }
    for (; at < end; at += Long.BYTES) {
      a += part.getLong(at);
    }
    return a + b + c + d;
  }
}
