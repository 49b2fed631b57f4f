package cuesta.hadoop;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;

/** Files that are written. */
record StoreWrites(
    StoreClient client, StoreNames names, String mode, FileSystem.Statistics statistics) {
  /** Begins a file with permission bits, in a mode or in that of the settings. */
  FSDataOutputStream create(String path, boolean overwrites, String write, int permissions)
      throws IOException {
    statistics.incrementWriteOps(1);
    if (!overwrites && names.found(path) != null) {
      throw new FileAlreadyExistsException(StoreNames.shown(path) + " exists already");
    }
    return new FSDataOutputStream(begun(path, !overwrites, write, permissions), statistics);
  }

  /**
   * Begins a file with the bytes of the one that it will replace.
   *
   * <p>Closing it fails where the name has another file by then than the one whose bytes it has.
   * The store is asked for that just before: one that another writer closes between this question
   * and the next, a fraction of a millisecond, is replaced still.
   */
  FSDataOutputStream append(String path) throws IOException {
    statistics.incrementWriteOps(1);
    StoredFile before = opened(path);
    StoreOutputStream to = null;
    try {
      to = begun(path, false, null, Permissions.ofFile());
      to.copy(before);
      Map<String, FileVersion> copied = Map.of(path, before.version);
      to.nameOnlyIf(() -> checkUnchanged(copied));
      return new FSDataOutputStream(to, statistics, before.sizeBytes());
    } catch (IOException | RuntimeException error) {
      if (to != null) {
        to.abort();
      }
      throw error;
    } finally {
      before.close();
    }
  }

  /**
   * Puts files at the end of the first, and removes them there.
   *
   * <p>Errors: IOException where one was changed since its bytes were copied, and all stay as they
   * are. What is changed just before the end is not seen, as by {@link #append}.
   */
  void concat(List<String> paths) throws IOException {
    statistics.incrementWriteOps(1);
    if (paths.size() < 2) {
      throw new IllegalArgumentException("there is nothing to put at the end of " + paths);
    }
    if (Set.copyOf(paths).size() < paths.size()) {
      throw new IOException("a file is named twice: " + paths);
    }
    StoreOutputStream all = begun(paths.get(0), false, null, Permissions.ofFile());
    Map<String, FileVersion> copied = new LinkedHashMap<>();
    all.nameOnlyIf(() -> checkUnchanged(copied));
    try {
      for (String path : paths) {
        StoredFile file = opened(path);
        try {
          copied.put(path, file.version);
          all.copy(file);
        } finally {
          file.close();
        }
      }
    } catch (IOException | RuntimeException error) {
      all.abort();
      throw error;
    }
    all.close();
    for (String path : paths.subList(1, paths.size())) {
      names.delete(path, false);
    }
  }

  /** Checks that each path still has the version that was copied. Errors: IOException if not. */
  private void checkUnchanged(Map<String, FileVersion> copied) throws IOException {
    for (Map.Entry<String, FileVersion> entry : copied.entrySet()) {
      StoredFile now = opened(entry.getKey());
      now.close();
      if (!now.version.hasSameBytes(entry.getValue())) {
        throw new IOException(
            StoreNames.shown(entry.getKey())
                + " was changed by others since it was copied, and is as they left it; try again");
      }
    }
  }

  /** Opens a file to read; to be closed. */
  StoredFile opened(String path) throws IOException {
    try {
      return client.open(path);
    } catch (IOException error) {
      throw Failures.of(StoreNames.shown(path), error);
    }
  }

  private StoreOutputStream begun(String path, boolean isNew, String write, int permissions)
      throws IOException {
    try {
      String wanted = write == null ? mode : write;
      return new StoreOutputStream(client.folder(), path, wanted, isNew, permissions);
    } catch (IOException error) {
      throw Failures.making(StoreNames.shown(path), error);
    }
  }
}
