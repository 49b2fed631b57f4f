package cuesta.hadoop;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.ByteBufferPositionedReadable;
import org.apache.hadoop.fs.ByteBufferReadable;
import org.apache.hadoop.fs.ByteBufferUtil;
import org.apache.hadoop.fs.CanUnbuffer;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.HasEnhancedByteBufferAccess;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.StreamStatisticNames;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsBinding;
import org.apache.hadoop.io.ByteBufferPool;

/**
 * A file of the store as Hadoop reads it. What is in memory is copied once, or not at all.
 *
 * <p>Reads at a position may come from several threads; the others are of one thread at a time.
 */
final class StoreInputStream extends FSInputStream
    implements ByteBufferReadable,
        ByteBufferPositionedReadable,
        HasEnhancedByteBufferAccess,
        CanUnbuffer,
        StreamCapabilities,
        IOStatisticsSource {
  private static final int COUNTED_LATER_MAX = 4096;

  private final StoredFile file;
  private final FileSystem.Statistics statistics;
  private final Map<ByteBuffer, StoredBlock> views = new IdentityHashMap<>();

  /** Buffers that were taken for what was not in memory, and the pools that they are of. */
  private final Map<ByteBuffer, ByteBufferPool> pooled = new IdentityHashMap<>();

  private long position;
  private volatile boolean isClosed;
  private final LongAdder readBytes = new LongAdder();

  /** Bytes that were read one by one since they were counted. */
  private int countedLater;

  /** The block that is read, and where it begins and ends in the file. */
  private StoredBlock block;

  private long blockStart;
  private long blockEnd;

  StoreInputStream(StoredFile file, FileSystem.Statistics statistics) {
    this.file = file;
    this.statistics = statistics;
  }

  @Override
  public synchronized void seek(long to) throws IOException {
    checkOpen();
    if (to < 0) {
      throw new EOFException(FSExceptionMessages.NEGATIVE_SEEK + " " + to);
    }
    if (to > file.sizeBytes()) {
      throw new EOFException(FSExceptionMessages.CANNOT_SEEK_PAST_EOF + " " + to);
    }
    position = to;
  }

  @Override
  public synchronized long getPos() {
    return position;
  }

  @Override
  public boolean seekToNewSource(long target) {
    return false;
  }

  @Override
  public synchronized int available() throws IOException {
    checkOpen();
    return (int) Math.min(Integer.MAX_VALUE, file.sizeBytes() - position);
  }

  @Override
  public synchronized int read() throws IOException {
    checkOpen();
    if (position >= file.sizeBytes()) {
      return -1;
    }
    int found;
    if (holds(1)) {
      found = block.at(position - blockStart);
    } else {
      ByteBuffer one = ByteBuffer.allocate(1);
      file.readPast(one, 1, position);
      found = one.get(0) & 0xff;
    }
    position++;
    if (++countedLater == COUNTED_LATER_MAX) {
      countRead(0);
    }
    return found;
  }

  @Override
  public synchronized int read(byte[] into, int offset, int length) throws IOException {
    checkOpen();
    Objects.checkFromIndexSize(offset, length, into.length);
    if (length == 0) {
      return 0;
    }
    int done = 0;
    while (done < length && position < file.sizeBytes()) {
      int most = (int) Math.min(length - done, file.leftInBlock(position));
      int count;
      if (holds(most)) {
        count = block.copy(position - blockStart, into, offset + done, most);
      } else {
        count = file.readPast(ByteBuffer.wrap(into, offset + done, most), most, position);
      }
      position += count;
      done += count;
    }
    countRead(done);
    return done == 0 ? -1 : done;
  }

  @Override
  public synchronized int read(ByteBuffer into) throws IOException {
    checkOpen();
    if (!into.hasRemaining()) {
      return 0;
    }
    int done = 0;
    while (into.hasRemaining() && position < file.sizeBytes()) {
      int most = (int) Math.min(into.remaining(), file.leftInBlock(position));
      int count =
          holds(most)
              ? block.copy(position - blockStart, into, most)
              : file.readPast(into, most, position);
      position += count;
      done += count;
    }
    countRead(done);
    return done == 0 ? -1 : done;
  }

  @Override
  public int read(long from, byte[] into, int offset, int length) throws IOException {
    checkOpen();
    validatePositionedReadArgs(from, into, offset, length);
    return length == 0 ? 0 : readAt(from, ByteBuffer.wrap(into, offset, length));
  }

  @Override
  public void readFully(long from, byte[] into, int offset, int length) throws IOException {
    checkOpen();
    validatePositionedReadArgs(from, into, offset, length);
    readFully(from, ByteBuffer.wrap(into, offset, length));
  }

  @Override
  public int read(long from, ByteBuffer into) throws IOException {
    checkOpen();
    checkPosition(from);
    return into.hasRemaining() ? readAt(from, into) : 0;
  }

  @Override
  public void readFully(long from, ByteBuffer into) throws IOException {
    checkOpen();
    checkPosition(from);
    if (into.remaining() > file.sizeBytes() - from) {
      throw new EOFException(FSExceptionMessages.EOF_IN_READ_FULLY);
    }
    if (into.hasRemaining()) {
      readAt(from, into);
    }
  }

  @Override
  public void readVectored(List<? extends FileRange> ranges, IntFunction<ByteBuffer> allocate)
      throws IOException {
    readVectored(ranges, allocate, buffer -> {});
  }

  @Override
  public void readVectored(
      List<? extends FileRange> ranges,
      IntFunction<ByteBuffer> allocate,
      Consumer<ByteBuffer> release)
      throws IOException {
    checkOpen();
    new VectoredRead(file, allocate, release, this::countAt).read(ranges);
  }

  /** Bytes as they lie in memory, up to the end of their block; null at the end of the file. */
  @Override
  public synchronized ByteBuffer read(ByteBufferPool pool, int most, EnumSet<ReadOption> options)
      throws IOException {
    checkOpen();
    if (most == 0) {
      return ByteBuffer.allocate(0);
    }
    if (position >= file.sizeBytes()) {
      return null;
    }
    int count = (int) Math.min(most, file.leftInBlock(position));
    if (!holds(count)) {
      if (pool == null) {
        throw new UnsupportedOperationException("it is not in memory, and there is no pool");
      }
      ByteBuffer copy = ByteBufferUtil.fallbackRead(this, pool, count);
      if (copy != null) {
        pooled.put(copy, pool);
      }
      return copy;
    }
    ByteBuffer view = block.view(position - blockStart, count);
    block.acquire();
    views.put(view, block);
    position += view.remaining();
    countRead(view.remaining());
    return view;
  }

  @Override
  public synchronized void releaseBuffer(ByteBuffer view) {
    StoredBlock of = views.remove(view);
    if (of != null) {
      of.release();
    }
    ByteBufferPool pool = pooled.remove(view);
    if (pool != null) {
      pool.putBuffer(view);
    }
  }

  @Override
  public synchronized void unbuffer() {
    if (block != null) {
      block.release();
      block = null;
    }
    file.closePast();
  }

  @Override
  public boolean hasCapability(String capability) {
    switch (capability.toLowerCase(Locale.ROOT)) {
      case StreamCapabilities.READBYTEBUFFER:
      case StreamCapabilities.PREADBYTEBUFFER:
      case StreamCapabilities.UNBUFFER:
      case StreamCapabilities.VECTOREDIO:
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
            StreamStatisticNames.STREAM_READ_BYTES, key -> readBytes.sum() + countedLater)
        .build();
  }

  @Override
  public synchronized void close() {
    if (!isClosed) {
      isClosed = true;
      countRead(0);
      if (block != null) {
        block.release();
        block = null;
      }
      // Views that were not released may still be read: the garbage collector unmaps their pages.
      views.clear();
      file.close();
    }
  }

  /** Whether the block of the next byte is in memory, of which so many are to be read. */
  private boolean holds(int count) throws IOException {
    if (block != null) {
      if (position >= blockStart && position < blockEnd) {
        return true;
      }
      block.release();
      block = null;
    }
    block = file.lease(file.indexOf(position), count);
    blockStart = position - file.within(position);
    blockEnd = position + file.leftInBlock(position);
    return block != null;
  }

  private int readAt(long from, ByteBuffer into) throws IOException {
    int done = 0;
    while (into.hasRemaining() && from + done < file.sizeBytes()) {
      done += file.read(into, from + done);
    }
    countAt(done);
    return done == 0 ? -1 : done;
  }

  /** Adds bytes to the statistics, with those that were read one by one and not counted yet. */
  private void countRead(int bytes) {
    int all = bytes + countedLater;
    if (all > 0) {
      countedLater = 0;
      readBytes.add(all);
      statistics.incrementBytesRead(all);
    }
  }

  /** As {@link #countRead}, from any thread. */
  private void countAt(int bytes) {
    readBytes.add(bytes);
    statistics.incrementBytesRead(bytes);
  }

  private static void checkPosition(long from) throws EOFException {
    if (from < 0) {
      throw new EOFException(FSExceptionMessages.NEGATIVE_SEEK + " " + from);
    }
  }

  private void checkOpen() throws IOException {
    if (isClosed) {
      throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED);
    }
  }
}
