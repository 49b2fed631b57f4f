package cuesta.hadoop;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Objects;
import org.apache.hadoop.fs.Abortable;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.StreamStatisticNames;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsBinding;

/**
 * A file that has its name when it is closed; what holds then is what its mode promises. One that
 * is aborted, or whose writing failed, is not there. Calls of several threads wait for each other.
 */
final class StoreOutputStream extends OutputStream
    implements Abortable, StreamCapabilities, IOStatisticsSource {
  private final String path;
  private final boolean isNew;
  private final StoreConnection connection;
  private final long number;
  private final long blockBytes;
  private final ByteBuffer buffer = ByteBuffer.allocate(Limits.BUFFER_BYTES);

  /** Bytes before those of the buffer. */
  private long sizeBytes;

  private Place place;

  /** Answers that are still to come: a block is sealed while the next one is written. */
  private int asked;

  /** Why bytes are missing: such a file is never named. */
  private IOException failure;

  private boolean isClosed;

  /** Condition that must hold just before the file gets its name; null for none. */
  private Condition condition;

  /** A condition. */
  interface Condition {
    /** Errors: IOException where it does not. */
    void check() throws IOException;
  }

  /** Target of the bytes of a block: a file and an offset. */
  private record Place(FileChannel channel, long index, long start, boolean isMemory) {}

  /**
   * Begins a file with permission bits, in the store's own mode where none is given; a new file
   * replaces nothing.
   *
   * <p>Errors: StoreRefusal; StoreLost; WireVersion.Mismatch.
   */
  StoreOutputStream(Path folder, String path, String mode, boolean isNew, int permissions)
      throws IOException {
    this.path = path;
    this.isNew = isNew;
    connection = StoreConnection.open(folder, Limits.UNHURRIED_MS);
    try {
      connection.say(Json.question("status"));
      Object[] fields = {"path", path, "mode", mode, "permissions", permissions};
      connection.say(Json.question("create", fields));
      WireVersion.check(connection.answer());
      StoreReply created = created(mode);
      number = created.number("created");
      blockBytes = created.number("block_bytes");
    } catch (IOException | RuntimeException | Error error) {
      connection.close();
      throw error;
    }
  }

  private StoreReply created(String mode) throws IOException {
    try {
      return connection.answer();
    } catch (StoreRefusal refusal) {
      if (!Permissions.isUnknown(refusal)) {
        throw refusal;
      }
      return connection.ask(Json.question("create", "path", path, "mode", mode));
    }
  }

  /** Has the file named only where something holds just before; else {@link #close} fails. */
  synchronized void nameOnlyIf(Condition wanted) {
    condition = wanted;
  }

  /** All bytes of another file come first. Errors: as writing. */
  synchronized void copy(StoredFile from) throws IOException {
    long done = 0;
    while (done < from.sizeBytes()) {
      done += from.read(buffer, done);
      flush();
    }
  }

  @Override
  public synchronized void write(int one) throws IOException {
    checkOpen();
    if (!buffer.hasRemaining()) {
      flush();
    }
    buffer.put((byte) one);
  }

  @Override
  public synchronized void write(byte[] from, int offset, int length) throws IOException {
    checkOpen();
    Objects.checkFromIndexSize(offset, length, from.length);
    if (length <= buffer.remaining()) {
      buffer.put(from, offset, length);
      return;
    }
    flush();
    if (length < buffer.remaining()) {
      buffer.put(from, offset, length);
      return;
    }
    writeAll(ByteBuffer.wrap(from, offset, length));
  }

  /** Writes the buffered bytes to the store; clients see them once the file is closed. */
  @Override
  public synchronized void flush() throws IOException {
    if (!isClosed) {
      buffer.flip();
      try {
        writeAll(buffer);
      } finally {
        buffer.clear();
      }
    }
  }

  /** Gives the file its name. Errors: IOException where it has none. */
  @Override
  public synchronized void close() throws IOException {
    if (isClosed) {
      return;
    }
    try {
      checkNoFailure();
      flush();
      endBlock();
      receiveAll();
      if (condition != null) {
        condition.check();
      }
      Object[] fields = {"number", number, "bytes", sizeBytes, "is_new", isNew};
      connection.ask(Json.question("commit", fields));
    } catch (StoreRefusal | StoreLost error) {
      throw Failures.making(StoreNames.shown(path), error);
    } finally {
      discard();
    }
  }

  @Override
  public synchronized AbortableResult abort() {
    boolean wasClosed = isClosed;
    discard();
    return new Aborted(wasClosed);
  }

  @Override
  public boolean hasCapability(String capability) {
    switch (capability.toLowerCase(Locale.ROOT)) {
      case CommonPathCapabilities.ABORTABLE_STREAM:
      case StreamCapabilities.IOSTATISTICS:
        return true;
      default:
        return false;
    }
  }

  @Override
  public IOStatistics getIOStatistics() {
    return IOStatisticsBinding.dynamicIOStatistics()
        .withLongFunctionCounter(
            StreamStatisticNames.STREAM_WRITE_BYTES, key -> writtenBytes())
        .build();
  }

  private synchronized long writtenBytes() {
    return sizeBytes + buffer.position();
  }

  private record Aborted(boolean alreadyClosed) implements AbortableResult {
    @Override
    public IOException anyCleanupException() {
      return null;
    }
  }

  private void discard() {
    isClosed = true;
    closePlace();
    // The store gives up what its connection has not committed.
    connection.close();
  }

  private void writeAll(ByteBuffer from) throws IOException {
    checkNoFailure();
    int end = from.limit();
    try {
      while (from.position() < end) {
        long within = sizeBytes % blockBytes;
        if (place == null) {
          takePlace(sizeBytes / blockBytes, false);
        }
        // The JVM keeps memory as large as the largest piece that a thread has ever written.
        long most = Math.min(blockBytes - within, Limits.WRITE_BYTES);
        from.limit((int) Math.min(end, from.position() + most));
        sizeBytes += writePiece(from, within);
        if (sizeBytes % blockBytes == 0) {
          endBlock();
        }
      }
    } catch (IOException error) {
      failure = Failures.making(StoreNames.shown(path), error);
      throw failure;
    } catch (RuntimeException | Error error) {
      failure = new IOException(StoreNames.shown(path) + ": " + error, error);
      throw error;
    } finally {
      from.limit(end);
    }
  }

  private int writePiece(ByteBuffer piece, long within) throws IOException {
    try {
      return place.channel.write(piece, place.start + within);
    } catch (ClosedByInterruptException error) {
      throw error;
    } catch (IOException error) {
      if (!place.isMemory) {
        throw error;
      }
    }
    // The memory of the system is full: the block goes past it, as far as it has come.
    FileChannel before = place.channel;
    try (before) {
      takePlace(place.index, true);
      for (long done = 0; done < within; ) {
        done += before.transferTo(done, within - done, place.channel.position(place.start + done));
      }
    }
    return place.channel.write(piece, place.start + within);
  }

  /**
   * Obtains the place of a block from the store, and opens it; {@code pastMemory} where its place
   * in memory had no room.
   */
  private void takePlace(long index, boolean pastMemory) throws IOException {
    receiveAll();
    Object[] fields = {"number", number, "index", index, "past_memory", pastMemory};
    StoreReply placed = connection.ask(Json.question("place", fields));
    boolean isMemory = placed.flag("is_memory");
    Path file = NameBytes.absolute(placed.text("place"));
    if (isMemory) {
      TrustedFolder.checkBlock(file);
    }
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
    place = new Place(channel, index, isMemory ? 0 : index * blockBytes, isMemory);
  }

  private void endBlock() throws IOException {
    Place full = place;
    closePlace();
    if (full != null && full.isMemory) {
      long bytes = sizeBytes - full.index * blockBytes;
      Object[] fields = {"number", number, "index", full.index, "bytes", bytes};
      connection.say(Json.question("seal", fields));
      asked++;
    }
  }

  private void closePlace() {
    if (place != null) {
      try {
        place.channel.close();
      } catch (IOException error) {
        // Its bytes are written already; the store looks at how many there are.
      }
      place = null;
    }
  }

  private void receiveAll() throws IOException {
    for (; asked > 0; asked--) {
      connection.answer();
    }
  }

  private void checkNoFailure() throws IOException {
    if (failure != null) {
      // Another one: who writes in a `try` adds that of `close` to that of the write.
      throw new IOException(failure.getMessage(), failure);
    }
  }

  private void checkOpen() throws IOException {
    if (isClosed) {
      throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED);
    }
  }
}
