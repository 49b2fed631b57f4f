package cuesta.hadoop;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;

/** The files that a store had in memory alone when it ended: nobody may take them for missing. */
record LostFiles(Set<String> paths) {
  private static final String RECORDS = "writes";
  private static final Set<String> CLOSED = Set.of("memory", "dirty", "synced");

  /**
   * Files of the store that was in a folder; none of one that was stopped.
   *
   * <p>Errors: TrustedFolder.Foreign for another account's folder; those of the system.
   */
  static LostFiles of(Path folder) throws IOException {
    Set<String> found = new TreeSet<>();
    if (Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
      TrustedFolder.check(folder);
    }
    try (DirectoryStream<Path> records =
        Files.newDirectoryStream(folder.resolve(RECORDS), "*.json")) {
      for (Path file : records) {
        add(file, found);
      }
    } catch (NoSuchFileException error) {
      // A store that was stopped has left none.
    } catch (DirectoryIteratorException error) {
      throw error.getCause();
    }
    return new LostFiles(found);
  }

  private static void add(Path file, Set<String> to) throws IOException {
    String text;
    try {
      text = Files.readString(file);
    } catch (NoSuchFileException gone) {
      return; // It is on the under level by now.
    }
    StoreReply record = new StoreReply(Json.parse(text), new byte[0]);
    if (CLOSED.contains(record.text("state"))) {
      to.add(record.text("path"));
    }
  }

  /** Errors: IOException where the file at a path is one. */
  void check(String path) throws IOException {
    if (paths.contains(path)) {
      throw StoreSession.alone(path);
    }
  }

  /** Errors: IOException where the under level lacks a name in a folder, or has an older file. */
  void checkInside(String folder, Path under) throws IOException {
    String start = folder.isEmpty() ? "" : folder + "/";
    for (String path : paths) {
      if (path.startsWith(start)) {
        int end = path.indexOf('/', start.length());
        // Of a folder in between, the name is all that is listed.
        if (end < 0 || !isFolder(under, path.substring(0, end))) {
          throw StoreSession.alone(path);
        }
      }
    }
  }

  private static boolean isFolder(Path under, String path) {
    try (UnderPlace place = UnderPlace.find(under, path)) {
      return place.isFolder();
    } catch (IOException error) {
      return false;
    }
  }
}
