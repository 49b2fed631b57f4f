package cuesta.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Connections of a process to a store, with its open files and the blocks that it leases. Threads
 * share it. Once the store is lost it is lost for good, and files are read past it.
 */
final class StoreSession {
  /** The under level, which is read once the store is lost. */
  final Path under;

  final long blockBytes;

  private final Path folder;
  private final int leasesMax;
  private final StoreConnection[] connections = new StoreConnection[Limits.LINES];
  private final ReentrantLock[] lines = new ReentrantLock[Limits.LINES];
  private final Map<Long, StoredFile> files = new HashMap<>();
  private final LinkedHashMap<BlockKey, StoredBlock> held = new LinkedHashMap<>(64, 0.75f, true);
  /** Files that nobody has open, the one that was left first before the others. */
  private final Set<StoredFile> idle = new LinkedHashSet<>();

  private volatile boolean isLost;

  /** Whether it was lost because it did not answer. */
  private volatile boolean hangs;
  private boolean hasCloser;

  /** A block of a file; the line is that of the file. */
  private record BlockKey(long number, long index, int line) {}

  /** A block, or none where memory has no room for it or the store is lost. */
  record Lease(StoredBlock block) {
    static final Lease NONE = new Lease(null);
  }

  /**
   * Connects to the store in a folder.
   *
   * <p>Errors: StoreLost where none runs; WireVersion.Mismatch.
   */
  StoreSession(Path folder) throws IOException {
    this.folder = folder;
    for (int i = 0; i < lines.length; i++) {
      lines[i] = new ReentrantLock();
    }
    connections[0] = StoreConnection.open(folder, Limits.FILL_MS);
    try {
      StoreReply status = connections[0].ask(Json.question("status"));
      WireVersion.check(status);
      under = NameBytes.absolute(status.text("under"));
      blockBytes = status.number("block_bytes");
      long half = status.number("memory_bytes") / Math.max(1, blockBytes) / 2;
      leasesMax = (int) Math.max(1, Math.min(half, Limits.LEASES_MAX));
    } catch (IOException | RuntimeException | Error error) {
      disconnect(0);
      throw error;
    }
  }

  /** The connection that a path falls to. */
  static int lineOf(String path) {
    return Math.floorMod(path.hashCode(), Limits.LINES);
  }

  /** The file or folder at a path; to be closed. Errors: as {@link UnderPlace#find}. */
  UnderPlace below(String path) throws IOException {
    return UnderPlace.find(under, path);
  }

  Path folder() {
    return folder;
  }

  boolean isLost() {
    return isLost;
  }

  /**
   * The answer to a question.
   *
   * <p>Errors: StoreRefusal; StoreLost, from then on always; IOException where it does not end.
   */
  StoreReply ask(int line, String question) throws IOException {
    lines[line].lock();
    try {
      // Others may have waited in vain meanwhile.
      checkLives();
      if (connections[line] == null) {
        connections[line] = StoreConnection.open(folder, Limits.FILL_MS);
      }
      return connections[line].ask(question);
    } catch (StoreRefusal refusal) {
      throw refusal;
    } catch (IOException error) {
      markLost(!(error instanceof StoreLost lost) || lost.hangs);
      throw error;
    } catch (RuntimeException | Error error) {
      // Half of an answer may be on the connection still.
      markLost(true);
      throw error;
    } finally {
      lines[line].unlock();
      if (isLost) {
        disconnectIdle();
      }
    }
  }

  /** Errors: StoreLost where it is lost. */
  void checkLives() throws StoreLost {
    if (isLost) {
      throw new StoreLost(folder.toString(), hangs);
    }
  }

  /** Goes past the store from now on; what is mapped stays mapped for who uses it. */
  void lose(boolean hangs) {
    markLost(hangs);
    disconnectIdle();
  }

  private void markLost(boolean hangs) {
    if (!isLost) {
      this.hangs = hangs;
      isLost = true;
    }
  }

  /** Closes the connections of a lost store; one that is in use is closed by who uses it. */
  private void disconnectIdle() {
    for (int line = 0; line < lines.length; line++) {
      if (lines[line].tryLock()) {
        try {
          disconnect(line);
        } finally {
          lines[line].unlock();
        }
      }
    }
  }

  private void disconnect(int line) {
    if (connections[line] != null) {
      connections[line].close();
      connections[line] = null;
    }
  }

  /** Whether it is lost, and may be looked for again only after a while. */
  boolean hangs() {
    return isLost && hangs;
  }

  /** Opens a file. Errors: as {@link #ask}. */
  StoredFile open(String path) throws IOException {
    int line = lineOf(path);
    StoreReply opened = ask(line, Json.question("open", "path", path));
    long number = opened.number("number");
    FileVersion version = FileVersion.of(opened.inner("version"));
    synchronized (this) {
      StoredFile known = files.get(number);
      // Under another name, or before its flush, it is read past the store otherwise.
      boolean isSame = known != null && known.path.equals(path) && known.version.equals(version);
      StoredFile file = isSame ? known : new StoredFile(this, path, version, number);
      files.put(number, file);
      idle.remove(file);
      file.opens++;
      file.users++;
      return file;
    }
  }

  /**
   * Returns a block of an open file, used for the caller; `Lease.NONE` where it must be read past
   * the store.
   *
   * <p>Errors: IOException where the file was changed, or a block in memory alone was lost.
   */
  Lease lease(StoredFile file, long index) throws IOException {
    BlockKey key = new BlockKey(file.number, index, file.line);
    synchronized (this) {
      StoredBlock block = held.get(key);
      if (block != null && block.acquire()) {
        return new Lease(block);
      }
    }
    StoreReply reply;
    try {
      reply = ask(file.line, Json.question("lease", "number", file.number, "index", index));
    } catch (StoreLost lost) {
      return Lease.NONE;
    } catch (StoreRefusal refusal) {
      if (refusal.isInput) {
        throw refused(refusal);
      }
      // What keeps the store from reading it, the reader finds itself.
      return Lease.NONE;
    }
    if (!reply.has("path")) {
      // Blocks that are only held for later use may be what takes the room.
      giveBack(0, null);
      return Lease.NONE;
    }
    try {
      Path place = NameBytes.absolute(reply.text("path"));
      StoredBlock block = StoredBlock.open(place, reply.number("size_bytes"));
      block.acquire();
      hold(key, block);
      return new Lease(block);
    } catch (IOException error) {
      release(key);
      return Lease.NONE;
    }
  }

  /** Whether this process has a block leased. */
  synchronized boolean isHeld(StoredFile file, long index) {
    return held.containsKey(new BlockKey(file.number, index, file.line));
  }

  /** Reads a file in memory alone through the socket: its blocks may be on their way out. */
  int read(StoredFile file, ByteBuffer into, int most, long position) throws IOException {
    int count = Math.min(most, Limits.PAYLOAD_BYTES);
    StoreReply reply;
    try {
      Object[] fields = {"number", file.number, "offset", position, "bytes", count};
      reply = ask(file.line, Json.question("read", fields));
    } catch (StoreLost lost) {
      throw alone(file.path);
    } catch (StoreRefusal refusal) {
      throw refused(refusal);
    }
    if (reply.payload().length != count) {
      throw alone(file.path);
    }
    into.put(reply.payload());
    return count;
  }

  /** Error of a refused read: it names the file, and the store of the job that had it. */
  private static IOException refused(StoreRefusal refusal) {
    return new IOException("store: " + refusal.getMessage(), refusal);
  }

  /** Bytes that are only in the memory of a store cannot be read past it. */
  static IOException alone(String path) {
    return new IOException(
        "store: cuesta:///" + path + " is in memory alone, and the store has ended or hangs; "
            + "start it again");
  }

  /** Closes a file for one user; it stays open for a moment, for who opens it for each piece. */
  void leave(StoredFile file) {
    StoredFile left = null;
    synchronized (this) {
      if (--file.users > 0) {
        return;
      }
      if (isLost) {
        left = file;
      } else {
        file.idleSinceNs = System.nanoTime();
        idle.add(file);
        left = idle.size() > Limits.RECENT_FILES ? idle.iterator().next() : null;
        startCloser();
      }
      forget(left);
    }
    if (left != null) {
      closed(left);
    }
  }

  private void startCloser() {
    if (!hasCloser) {
      hasCloser = true;
      Thread closer = new Thread(this::closeIdle, "cuesta-recent");
      closer.setDaemon(true);
      closer.start();
    }
  }

  private void forget(StoredFile file) {
    if (file != null) {
      idle.remove(file);
      files.remove(file.number, file);
    }
  }

  private void hold(BlockKey key, StoredBlock block) {
    StoredBlock twice;
    synchronized (this) {
      twice = held.put(key, block);
    }
    if (twice != null) {
      // Two threads have leased it at once.
      twice.release();
      release(key);
    }
    giveBack(leasesMax, null);
  }

  /** Gives leases back until so many are left: of a file, or the oldest. */
  private void giveBack(int most, StoredFile of) {
    List<BlockKey> left = new ArrayList<>();
    synchronized (this) {
      Iterator<Map.Entry<BlockKey, StoredBlock>> all = held.entrySet().iterator();
      while (held.size() > most && all.hasNext()) {
        Map.Entry<BlockKey, StoredBlock> oldest = all.next();
        if (of == null || of.number == oldest.getKey().number) {
          left.add(oldest.getKey());
          oldest.getValue().release();
          all.remove();
        }
      }
    }
    left.forEach(this::release);
  }

  private void release(BlockKey key) {
    tell(key.line, Json.question("release", "number", key.number, "index", key.index));
  }

  /** Asks what may be left unheard: the store sees the connection closed at the end. */
  private void tell(int line, String question) {
    try {
      ask(line, question);
    } catch (IOException error) {
      // Then there is nothing to give back.
    }
  }

  /** Closes files that nobody has opened for a moment, as long as there are such. */
  private void closeIdle() {
    while (true) {
      try {
        TimeUnit.MILLISECONDS.sleep(Limits.RECENT_MS / 2);
      } catch (InterruptedException error) {
        // It goes on with what there is.
      }
      List<StoredFile> old = new ArrayList<>();
      boolean isLast;
      synchronized (this) {
        long now = System.nanoTime();
        for (StoredFile file : idle) {
          if (isLost || TimeUnit.NANOSECONDS.toMillis(now - file.idleSinceNs) >= Limits.RECENT_MS) {
            old.add(file);
          }
        }
        old.forEach(this::forget);
        isLast = idle.isEmpty();
        hasCloser = !isLast;
      }
      old.forEach(this::closed);
      if (isLast) {
        return;
      }
    }
  }

  private void closed(StoredFile file) {
    file.closePast();
    giveBack(0, file);
    for (int i = 0; i < file.opens; i++) {
      tell(file.line, Json.question("close", "number", file.number));
    }
  }
}
