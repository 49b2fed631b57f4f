package cuesta.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * A file, read through the store where that has or gets its blocks, else from the under level: one
 * version of it, or an error. Threads share it; who opened it lets go of it by {@link #close}.
 */
final class StoredFile {
  /** Number of a file that the store does not know. */
  static final long NO_NUMBER = -1;

  final StoreSession session;
  final String path;
  final FileVersion version;
  final long number;

  /** The connection that it is open on. */
  final int line;

  /** Number of times that the store opened it. */
  int opens;

  /** Number of users; at 0 it is idle since {@code idleSinceNs}. */
  int users;

  long idleSinceNs;

  private final Path root;

  /** Blocks that had no room, and bytes of them to be read past the store before it is asked. */
  private final Map<Long, Long> refused = new HashMap<>();

  private PastFile past;

  StoredFile(StoreSession session, String path, FileVersion version, long number) {
    this.session = session;
    this.path = path;
    this.version = version;
    this.number = number;
    this.line = StoreSession.lineOf(path);
    this.root = session.under;
  }

  /** Its size. */
  long sizeBytes() {
    return version.sizeBytes();
  }

  /** The block that a byte is in; all of an unknown file is one. */
  long indexOf(long position) {
    return number == NO_NUMBER ? 0 : position / session.blockBytes;
  }

  /** Offset of a byte in its block. */
  long within(long position) {
    return number == NO_NUMBER ? position : position % session.blockBytes;
  }

  /** Bytes from a place on, to the end of their block. */
  long leftInBlock(long position) {
    long left = sizeBytes() - position;
    return number == NO_NUMBER ? left : Math.min(left, session.blockBytes - within(position));
  }

  /**
   * A block, of which so many bytes are to be read; to be released. Null where they are to be read
   * past the store. Errors: IOException where the file was changed.
   */
  StoredBlock lease(long index, long count) throws IOException {
    if (number == NO_NUMBER || isRefused(index, count)) {
      return null;
    }
    StoreSession.Lease lease = session.lease(this, index);
    if (lease.block() == null && !session.isLost()) {
      long sizeBytes = Math.min(session.blockBytes, sizeBytes() - index * session.blockBytes);
      synchronized (refused) {
        refused.put(index, sizeBytes - count);
      }
    }
    return lease.block();
  }

  /** Whether this process has all blocks of a range leased: reading it waits for nobody. */
  boolean isHeld(long position, long count) {
    if (number == NO_NUMBER) {
      return false;
    }
    for (long index = indexOf(position); index * session.blockBytes < position + count; index++) {
      if (!session.isHeld(this, index)) {
        return false;
      }
    }
    return true;
  }

  /** Reads to the end of the block, and at most what the buffer takes; how many, -1 at the end. */
  int read(ByteBuffer into, long position) throws IOException {
    if (position >= sizeBytes()) {
      return -1;
    }
    int most = (int) Math.min(into.remaining(), leftInBlock(position));
    StoredBlock block = lease(indexOf(position), most);
    if (block == null) {
      return readPast(into, most, position);
    }
    try {
      return block.copy(within(position), into, most);
    } finally {
      block.release();
    }
  }

  /** Reads without a lease: from the under level, or what is nowhere else through the socket. */
  int readPast(ByteBuffer into, int most, long position) throws IOException {
    if (number != NO_NUMBER && version.isAlone()) {
      return session.read(this, into, most, position);
    }
    try {
      return past().read(into, most, position);
    } catch (IOException error) {
      throw new IOException("store: cuesta:///" + path + ": " + error.getMessage(), error);
    }
  }

  /** Lets go of it. */
  void close() {
    session.leave(this);
  }

  /** Closes what it has of the under level. */
  synchronized void closePast() {
    if (past != null) {
      try {
        past.close();
      } catch (IOException error) {
        // It was only read.
      }
      past = null;
    }
  }

  private synchronized PastFile past() throws IOException {
    if (past == null) {
      past = new PastFile(root, path, version);
    }
    return past;
  }

  private boolean isRefused(long index, long count) {
    synchronized (refused) {
      Long left = refused.get(index);
      if (left == null) {
        return false;
      }
      if (left > count) {
        refused.put(index, left - count);
      } else {
        refused.remove(index);
      }
      return true;
    }
  }
}
