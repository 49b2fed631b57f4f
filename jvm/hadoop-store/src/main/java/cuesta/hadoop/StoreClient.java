package cuesta.hadoop;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * A store as this process uses it; one for each folder of a store. Threads share it.
 *
 * <p>A store that ends or hangs breaks no reader: within a second it goes on with the under level,
 * and looks for a store again now and then. What changes names or writes needs one that runs.
 */
final class StoreClient {
  private static final Map<Path, StoreClient> SHARED = new HashMap<>();
  private static final String RECORDS = "writes";
  private static final Set<String> CLOSED = Set.of("memory", "dirty", "synced");

  private final Path folder;
  private final Deque<StoreConnection> links = new ArrayDeque<>();
  private StoreSession session;
  private long triedNs;

  /** Whether the last look for a store took as long as one that hangs. */
  private boolean isSlow;

  private StoreClient(Path folder) throws IOException {
    this.folder = folder;
    this.session = new StoreSession(folder);
    this.triedNs = System.nanoTime();
  }

  /** A file or folder. */
  record Entry(String name, boolean isFolder, long sizeBytes, long modifiedNs) {
    private static Entry of(StoreReply reply) throws IOException {
      return new Entry(
          reply.text("name"),
          reply.flag("is_folder"),
          reply.number("size_bytes"),
          reply.number("modified_ns"));
    }

    private static Entry past(Path file) throws IOException {
      FileVersion now = FileVersion.of(file);
      boolean isFolder = Files.isDirectory(file);
      String name = String.valueOf(file.getFileName());
      return new Entry(name, isFolder, isFolder ? 0 : now.sizeBytes(), now.modifiedNs());
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
    checkAlone(path);
    Path file = lost.below(path);
    if (Files.isDirectory(file)) {
      throw new StoreRefusal("it is a folder", StoreRefusal.IS_FOLDER, true);
    }
    StoredFile past = new StoredFile(lost, path, FileVersion.of(file), StoredFile.NO_NUMBER);
    past.users = 1;
    return past;
  }

  /** What is at a path. Errors: StoreRefusal; those of the system. */
  Entry facts(String path) throws IOException {
    return asked(
        session -> Entry.of(stat(session, path)),
        session -> {
          checkAlone(path);
          return Entry.past(session.below(path));
        });
  }

  private static StoreReply stat(StoreSession session, String path) throws IOException {
    String question = Json.question("stat", "path", path);
    return session.ask(StoreSession.lineOf(path), question).all("entries").get(0);
  }

  /** What else the store says of a path, by name. Errors: StoreRefusal; StoreLost. */
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

  /** What is in a folder, by name. Errors: StoreRefusal; those of the system. */
  List<Entry> list(String path) throws IOException {
    return asked(session -> list(session, path), session -> listPast(session.below(path)));
  }

  private static List<Entry> list(StoreSession session, String path) throws IOException {
    List<Entry> found = new ArrayList<>();
    String question = Json.question("list", "path", path);
    for (StoreReply one : session.ask(StoreSession.lineOf(path), question).all("entries")) {
      found.add(Entry.of(one));
    }
    return found;
  }

  private static List<Entry> listPast(Path folder) throws IOException {
    List<Entry> found = new ArrayList<>();
    try (DirectoryStream<Path> names = Files.newDirectoryStream(folder)) {
      for (Path file : names) {
        if (!file.getFileName().toString().endsWith(".cuesta-part")) {
          found.add(Entry.past(file));
        }
      }
    } catch (NotDirectoryException error) {
      throw new StoreRefusal("it is no folder", StoreRefusal.NO_FOLDER, true);
    }
    found.sort(Comparator.comparing(Entry::name));
    return found;
  }

  /** The blocks of a file that are in memory; none of those that no store says. */
  List<Long> blocksInMemory(String path) throws IOException {
    String question = Json.question("blocks", "path", path);
    return asked(
        session -> session.ask(StoreSession.lineOf(path), question).numbers("in_memory"),
        session -> List.of());
  }

  /** What a store answers, one that was started meanwhile too; else what is there without one. */
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

  /** Changes names, for as long as that takes. Errors: StoreRefusal; StoreLost. */
  StoreReply change(String question) throws IOException {
    StoreConnection link = takeLink();
    StoreReply reply;
    try {
      reply = link.ask(question);
    } catch (StoreRefusal refusal) {
      giveLink(link);
      throw refusal;
    } catch (IOException error) {
      link.close();
      throw error;
    }
    giveLink(link);
    return reply;
  }

  private StoreConnection takeLink() throws StoreLost {
    while (true) {
      StoreConnection kept;
      synchronized (links) {
        kept = links.pollLast();
      }
      if (kept == null) {
        return StoreConnection.open(folder, Limits.UNHURRIED_MS);
      }
      if (!kept.hasEnded()) {
        return kept;
      }
      kept.close();
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

  /** The session; after the loss of a store, one with the next, which is looked for. */
  private synchronized StoreSession session() {
    long sinceMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - triedNs);
    // One that has ended is told at once; one that hangs takes most of a second each time.
    if (session.isLost() && (!session.hangs() && !isSlow || sinceMs > Limits.RETRY_MS)) {
      triedNs = System.nanoTime();
      try {
        session = new StoreSession(folder);
        isSlow = false;
      } catch (IOException error) {
        // It is gone on past the store until the next try.
        isSlow = !(error instanceof StoreLost lost) || lost.hangs;
      }
    }
    return session;
  }

  /** Errors: IOException where a file was in the memory of the lost store alone. */
  private void checkAlone(String path) throws IOException {
    try (DirectoryStream<Path> records =
        Files.newDirectoryStream(folder.resolve(RECORDS), "*.json")) {
      for (Path file : records) {
        String text;
        try {
          text = Files.readString(file);
        } catch (java.nio.file.NoSuchFileException gone) {
          continue; // It is on the under level by now.
        }
        StoreReply record = new StoreReply(Json.parse(text), new byte[0]);
        if (CLOSED.contains(record.text("state")) && path.equals(record.text("path"))) {
          throw StoreSession.alone(path);
        }
      }
    } catch (FileNotFoundException | java.nio.file.NoSuchFileException error) {
      // A store that was stopped has left none.
    }
  }
}
