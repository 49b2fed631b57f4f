package cuesta.hadoop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.io.ElasticByteBufferPool;

/**
 * Reads by way of Hadoop as {@code tests/storedoor.py} does by other ways: first {@code ready},
 * then for each line of standard input one that begins with {@code ok} or {@code failed}.
 *
 * <p>{@code list PATH}; {@code all PATH}, the CRC-32 of its bytes; {@code open PATH}, which is
 * kept; {@code at PLACE}, 10 bytes of that, by each way that a stream of Hadoop has; and {@code
 * places PATH}, the hosts of each of its blocks, sorted.
 */
public final class DoorLoop {
  private static final int BYTES = 10;
  private static final int PIECE_BYTES = 1 << 16;

  private final FileSystem system;
  private FSDataInputStream open;

  private DoorLoop(FileSystem system) {
    this.system = system;
  }

  /** Reads 10 bytes at a place. */
  private interface Way {
    byte[] at(FSDataInputStream from, long place) throws IOException;
  }

  public static void main(String[] none) throws Exception {
    DoorLoop door = new DoorLoop(FileSystem.get(URI.create("cuesta:///"), new Configuration()));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      try {
        System.out.println("ok " + door.answer(words[0], words[1]));
      } catch (IOException error) {
        System.out.println("failed " + error.getMessage());
      }
    }
  }

  private String answer(String question, String word) throws IOException {
    switch (question) {
      case "list":
        return String.join(
            " ",
            Arrays.stream(system.listStatus(new Path(word)))
                .map(one -> one.getPath().getName())
                .toList());
      case "all":
        return all(new Path(word));
      case "open":
        open = system.open(new Path(word));
        return String.valueOf(open.read() >= 0);
      case "places":
        return places(new Path(word));
      default:
        return at(Long.parseLong(word));
    }
  }

  private String places(Path path) throws IOException {
    FileStatus status = system.getFileStatus(path);
    List<String> found = new ArrayList<>();
    for (BlockLocation block : system.getFileBlockLocations(status, 0, status.getLen())) {
      String[] hosts = block.getHosts();
      Arrays.sort(hosts);
      found.add(String.join(",", hosts));
    }
    return String.join(" ", found);
  }

  private String all(Path path) throws IOException {
    CRC32 found = new CRC32();
    byte[] piece = new byte[PIECE_BYTES];
    try (CheckedInputStream in = new CheckedInputStream(system.open(path), found)) {
      while (in.read(piece) > 0) {
        // It is counted.
      }
    }
    return String.valueOf(found.getValue());
  }

  /** Checks that all ways of reading return equal bytes, or equal errors. */
  private String at(long place) throws IOException {
    String first = null;
    IOException failed = null;
    List<Way> ways =
        List.of(
            DoorLoop::array, DoorLoop::buffer, DoorLoop::positioned, DoorLoop::view,
            DoorLoop::ranges);
    for (int i = 0; i < ways.size(); i++) {
      String found;
      try {
        found = HexFormat.of().formatHex(ways.get(i).at(open, place));
      } catch (IOException error) {
        found = error.getMessage();
        failed = error;
      }
      if (first != null && !first.equals(found)) {
        throw new IOException("way " + i + ": " + found + "; and before: " + first);
      }
      first = found;
    }
    if (failed != null) {
      throw failed;
    }
    return first;
  }

  private static byte[] array(FSDataInputStream from, long place) throws IOException {
    byte[] found = new byte[BYTES];
    from.seek(place);
    from.readFully(found);
    return found;
  }

  private static byte[] buffer(FSDataInputStream from, long place) throws IOException {
    ByteBuffer found = ByteBuffer.allocateDirect(BYTES);
    from.seek(place);
    while (found.hasRemaining()) {
      from.read(found);
    }
    return bytes(found.flip());
  }

  private static byte[] positioned(FSDataInputStream from, long place) throws IOException {
    byte[] found = new byte[BYTES];
    from.readFully(place, found);
    return found;
  }

  private static byte[] view(FSDataInputStream from, long place) throws IOException {
    from.seek(place);
    ElasticByteBufferPool pool = new ElasticByteBufferPool();
    ByteBuffer copied = ByteBuffer.allocate(BYTES);
    while (copied.hasRemaining()) {
      // It ends with its block.
      ByteBuffer found = from.read(pool, copied.remaining(), EnumSet.noneOf(ReadOption.class));
      copied.put(found.duplicate());
      from.releaseBuffer(found);
    }
    return copied.array();
  }

  private static byte[] ranges(FSDataInputStream from, long place) throws IOException {
    FileRange range = FileRange.createFileRange(place, BYTES);
    from.readVectored(List.of(range), ByteBuffer::allocate);
    try {
      return bytes(range.getData().get());
    } catch (ExecutionException error) {
      throw (IOException) error.getCause();
    } catch (InterruptedException error) {
      throw new IOException(error);
    }
  }

  private static byte[] bytes(ByteBuffer from) {
    byte[] found = new byte[from.remaining()];
    from.get(found);
    return found;
  }
}
