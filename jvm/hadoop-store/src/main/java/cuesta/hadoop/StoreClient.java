package cuesta.hadoop;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store as this process uses it; one for each folder of a store. Threads share it.
 *
 * <p>A store that ends or hangs breaks no reader: within a second it goes on with the under level,
 * and looks for a store again now and then. What changes names or writes needs one that runs.
 */
final class StoreClient {
  private static final Logger LOG = LoggerFactory.getLogger(StoreClient.class);
  private static final Map<Path, StoreClient> SHARED = new HashMap<>();

  private final Path folder;
  private final Deque<StoreConnection> links = new ArrayDeque<>();
  private StoreSession session;
  private long triedNs;

  /** Whether the last look for a store took as long as one that hangs. */
  private boolean isSlow;

  /** Whether it was said that the store which runs now cannot be talked to. */
  private boolean isSaid;

  private StoreClient(Path folder) throws IOException {
    this.folder = folder;
    this.session = new StoreSession(folder);
    this.triedNs = System.nanoTime();
  }

  /** A file or folder, or a symbolic link to a folder. */
  record Entry(String name, boolean isFolder, boolean isLink, long sizeBytes, long modifiedNs) {
    private static Entry of(StoreReply reply) throws IOException {
      return new Entry(
          reply.text("name"),
          reply.flag("is_folder"),
          reply.has("link"),
          reply.number("size_bytes"),
          reply.number("modified_ns"));
    }

    private static Entry past(StoreSession session, String path) throws IOException {
      try (UnderPlace place = session.below(path)) {
        FileVersion now = FileVersion.of(place.path());
        boolean isFolder = place.isFolder();
        String name = path.substring(path.lastIndexOf('/') + 1);
        long sizeBytes = isFolder ? 0 : now.sizeBytes();
        return new Entry(name, isFolder, isFolder && place.isLink(), sizeBytes, now.modifiedNs());
      }
    }
  }

  /** The client of the store in a folder. Errors: IOException, one line, where none runs. */
  static StoreClient of(Path folder) throws IOException {
    synchronized (SHARED) {
      StoreClient known = SHARED.get(folder);
      if (known == null) {
        try {
          known = new StoreClient(folder);
        } catch (StoreLost lost) {
          throw new IOException(
              "no store runs in " + folder + "; start one by `cuesta store start`, or name its "
                  + "folder by " + StoreSettings.STORE);
        }
        SHARED.put(folder, known);
      }
      return known;
    }
  }

  Path folder() {
    return folder;
  }

  /** The under level. */
  Path under() {
    return session().under;
  }

  long blockBytes() {
    return session().blockBytes;
  }

  /** Opens a file; to be closed. Errors: StoreRefusal; those of the system. */
  StoredFile open(String path) throws IOException {
    return asked(session -> session.open(path), session -> openPast(session, path));
  }

  private StoredFile openPast(StoreSession lost, String path) throws IOException {
    LostFiles.of(folder).check(path);
    FileVersion version;
    try (UnderPlace place = lost.below(path)) {
      if (place.isFolder()) {
        throw new StoreRefusal("it is a folder", StoreRefusal.IS_FOLDER, true);
      }
      place.checkRegular();
      version = FileVersion.of(place.path());
    }
    StoredFile past = new StoredFile(lost, path, version, StoredFile.NO_NUMBER);
    past.users = 1;
    return past;
  }

  /** Facts of the file at a path. Errors: StoreRefusal; those of the system. */
  Entry facts(String path) throws IOException {
    return asked(
        session -> Entry.of(stat(session, path)),
        session -> {
          LostFiles alone = LostFiles.of(folder);
          alone.check(path);
          try {
            return Entry.past(session, path);
          } catch (NoSuchFileException missing) {
            // It may be a folder that only files in memory alone are in.
            alone.checkInside(path, session.under);
            throw missing;
          }
        });
  }

  private StoreReply stat(StoreSession session, String path) throws IOException {
    return askApart(session, Json.question("stat", "path", path)).all("entries").get(0);
  }

  /** Further attributes of a path, by name. Errors: StoreRefusal; StoreLost. */
  Map<String, String> attributes(String path) throws IOException {
    StoreReply entry = asked(session -> stat(session, path), session -> null);
    Map<String, String> found = new TreeMap<>();
    if (entry != null) {
      found.put("memory_bytes", Long.toString(entry.number("memory_bytes")));
      if (entry.has("layout")) {
        StoreReply layout = entry.inner("layout");
        found.put("layout", layout.text("layout"));
        found.put("stripe_size", Long.toString(layout.number("stripe_size")));
        found.put("stripe_count", Long.toString(layout.number("stripe_count")));
      }
    }
    return found;
  }

  /** Entries of a folder, by name. Errors: StoreRefusal; those of the system. */
  List<Entry> list(String path) throws IOException {
    return asked(session -> list(session, path), session -> listPast(session, path));
  }

  private List<Entry> list(StoreSession session, String path) throws IOException {
    List<Entry> found = new ArrayList<>();
    String question = Json.question("list", "path", path);
    for (StoreReply one : askApart(session, question).all("entries")) {
      found.add(Entry.of(one));
    }
    return found;
  }

  private List<Entry> listPast(StoreSession lost, String path) throws IOException {
    LostFiles alone = LostFiles.of(folder);
    alone.check(path);
    alone.checkInside(path, lost.under);
    List<Entry> found = new ArrayList<>();
    List<String> names;
    try (UnderPlace place = lost.below(path)) {
      if (!place.isFolder()) {
        throw new StoreRefusal("it is no folder", StoreRefusal.NO_FOLDER, true);
      }
      names = place.list();
    }
    for (String name : names) {
      if (!isHidden(name)) {
        addPast(lost, path.isEmpty() ? name : path + "/" + name, found);
      }
    }
    return found;
  }

  private static void addPast(StoreSession lost, String path, List<Entry> to) throws IOException {
    try {
      to.add(Entry.past(lost, path));
    } catch (NoSuchFileException | UnderPlace.Outside | FileSystemLoopException gone) {
      // It was removed meanwhile, or is a link that leads nowhere or out of the under level.
    } catch (StoreRefusal below) {
      // A link that leads below a file.
    }
  }

  /** Whether it is the name of a file that is being written. */
  private static boolean isHidden(String name) {
    return name.startsWith(".") && name.endsWith(".cuesta-part");
  }

  /** Stores that have some blocks of a file in memory; none for blocks that no store reports. */
  BlockPlaces places(String path, long first, int count) throws IOException {
    String question = Json.question("places", "path", path, "first", first, "count", count);
    return asked(
        session -> BlockPlaces.of(askApart(session, question), count),
        session -> BlockPlaces.nowhere(count));
  }

  /** Returns the answer of the store, or of one that was started meanwhile; else the other one. */
  private <T> T asked(Asked<T> store, Asked<T> past) throws IOException {
    StoreSession now = session();
    try {
      return store.of(now);
    } catch (StoreLost lost) {
      StoreSession next = session();
      if (next == now) {
        return past.of(now);
      }
      try {
        return store.of(next);
      } catch (StoreLost again) {
        return past.of(next);
      }
    }
  }

  private interface Asked<T> {
    T of(StoreSession session) throws IOException;
  }

  /**
   * Asks on a connection on which no file is open, however long the answer takes.
   *
   * <p>Errors: StoreRefusal; StoreLost, and the session is lost with its store.
   */
  private StoreReply askApart(StoreSession session, String question) throws IOException {
    session.checkLives();
    try {
      return change(question);
    } catch (StoreLost lost) {
      session.lose(lost.hangs);
      // Each of the others would be waited for in vain.
      dropLinks();
      throw lost;
    } catch (WireVersion.Mismatch other) {
      // Its own store has ended, or there would not be another one in the folder.
      session.lose(false);
      throw new StoreLost(folder.toString(), false);
    }
  }

  /**
   * Changes names, for as long as that takes.
   *
   * <p>Errors: StoreRefusal; StoreLost; WireVersion.Mismatch.
   */
  StoreReply change(String question) throws IOException {
    StoreConnection link = takeLink();
    boolean isSound = false;
    try {
      StoreReply reply = link.ask(question);
      isSound = true;
      return reply;
    } catch (StoreRefusal refusal) {
      isSound = true;
      throw refusal;
    } finally {
      if (isSound) {
        giveLink(link);
      } else {
        link.close();
      }
    }
  }

  private StoreConnection takeLink() throws IOException {
    while (true) {
      StoreConnection kept;
      synchronized (links) {
        kept = links.pollLast();
      }
      if (kept == null) {
        return openLink();
      }
      if (!kept.hasEnded()) {
        return kept;
      }
      kept.close();
    }
  }

  private StoreConnection openLink() throws IOException {
    StoreConnection link = StoreConnection.open(folder, Limits.UNHURRIED_MS);
    try {
      // It may be another store than that of the session.
      WireVersion.check(link.ask(Json.question("status")));
      return link;
    } catch (IOException | RuntimeException | Error error) {
      link.close();
      throw error;
    }
  }

  private void giveLink(StoreConnection link) {
    synchronized (links) {
      if (links.size() < Limits.IDLE_LINKS) {
        links.addLast(link);
        return;
      }
    }
    link.close();
  }

  /** Closes the idle connections to the store before. */
  private void dropLinks() {
    synchronized (links) {
      links.forEach(StoreConnection::close);
      links.clear();
    }
  }

  /** The session; after the loss of a store, one with the next, which is looked for. */
  private synchronized StoreSession session() {
    long sinceMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - triedNs);
    // One that has ended is told at once; one that hangs takes most of a second each time.
    if (session.isLost() && (!session.hangs() && !isSlow || sinceMs > Limits.RETRY_MS)) {
      triedNs = System.nanoTime();
      try {
        session = new StoreSession(folder);
        dropLinks();
        isSlow = false;
        isSaid = false;
      } catch (StoreLost error) {
        // It is gone on past the store until the next try.
        isSlow = error.hangs;
        isSaid = false;
      } catch (IOException error) {
        // The same, but as long as this store runs it will not be otherwise.
        isSlow = true;
        if (!isSaid) {
          LOG.warn("files are read past the store in {}: {}", folder, error.getMessage());
        }
        isSaid = true;
      }
    }
    return session;
  }
}
