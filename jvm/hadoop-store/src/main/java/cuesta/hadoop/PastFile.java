package cuesta.hadoop;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * A file of the under level, read past a store that has no room for it, has ended or hangs: one
 * version of it, or an error.
 */
final class PastFile implements Closeable {
  private final Path root;
  private final String path;
  private final FileVersion version;

  /** Its path without links. */
  private Path file;

  private FileChannel channel;

  /** Bytes that were read together with those before them, once there are such. */
  private ByteBuffer ahead = ByteBuffer.allocate(0);

  /** Offset of the bytes that were read ahead. */
  private long aheadStart;

  /** Offset at which the last read ended. */
  private long next;

  /**
   * Opens what a path below the root of the under level leads to.
   *
   * <p>Errors: IOException where it is another version; UnderPlace.Outside where a link leads
   * out of the root; those of the system.
   */
  PastFile(Path root, String path, FileVersion version) throws IOException {
    this.root = root;
    this.path = path;
    this.version = version;
    reopen();
  }

  /**
   * Reads at most {@code most} bytes and returns how many. Small sequential reads come from a
   * larger one ahead of them.
   */
  synchronized int read(ByteBuffer into, int most, long position) throws IOException {
    boolean isNext = position == next;
    next = position + most;
    if (most >= Limits.PAST_BYTES || !isNext && !isAhead(position)) {
      ByteBuffer piece = into.slice(into.position(), most);
      readVersion(piece, position);
      into.position(into.position() + most);
      return most;
    }
    if (!isAhead(position)) {
      long left = version.sizeBytes() - position;
      if (ahead.capacity() == 0) {
        ahead = ByteBuffer.allocate(Limits.PAST_BYTES);
      }
      ahead.clear().limit((int) Math.min(left, Limits.PAST_BYTES));
      aheadStart = position;
      try {
        readVersion(ahead, position);
      } catch (IOException error) {
        ahead.limit(0);
        throw error;
      }
    }
    int place = (int) (position - aheadStart);
    int count = Math.min(most, ahead.limit() - place);
    into.put(into.position(), ahead, place, count);
    into.position(into.position() + count);
    next = position + count;
    return count;
  }

  @Override
  public synchronized void close() throws IOException {
    channel.close();
  }

  private boolean isAhead(long position) {
    return position >= aheadStart && position < aheadStart + ahead.limit();
  }

  private void readVersion(ByteBuffer into, long position) throws IOException {
    int start = into.position();
    int end = into.limit();
    // The JVM keeps memory as large as the largest piece that a thread has ever read.
    int most = into.isDirect() ? into.remaining() : Limits.READ_BYTES;
    boolean wasInterrupted = false;
    try {
      while (into.position() < end) {
        into.limit(into.position() + Math.min(end - into.position(), most));
        // The channel would be closed for others: the interrupt is kept for later.
        wasInterrupted |= Thread.interrupted();
        try {
          if (channel.read(into, position + into.position() - start) < 0) {
            throw changed();
          }
        } catch (ClosedByInterruptException error) {
          wasInterrupted = true;
        } catch (ClosedChannelException error) {
          reopen();
        }
      }
    } finally {
      into.limit(end);
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
    check();
  }

  private void reopen() throws IOException {
    FileChannel opened;
    try (UnderPlace place = UnderPlace.find(root, path)) {
      file = place.path();
      check();
      opened = place.open();
    }
    try {
      // Had it another name in between, its time of change would tell.
      check();
    } catch (IOException | RuntimeException error) {
      opened.close();
      throw error;
    }
    channel = opened;
  }

  private void check() throws IOException {
    if (!FileVersion.of(file).equals(version)) {
      throw changed();
    }
  }

  private static IOException changed() {
    return new IOException("it was changed while it was read; open it again");
  }
}
