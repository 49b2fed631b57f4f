package cuesta.hadoop;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;

/** Files that are written. */
record StoreWrites(
    StoreClient client, StoreNames names, String mode, FileSystem.Statistics statistics) {
  /** Begins a file, in a mode or in that of the settings. */
  FSDataOutputStream create(String path, boolean overwrites, String write) throws IOException {
    statistics.incrementWriteOps(1);
    if (!overwrites && names.found(path) != null) {
      throw new FileAlreadyExistsException(StoreNames.shown(path) + " exists already");
    }
    return new FSDataOutputStream(begun(path, !overwrites, write), statistics);
  }

  /** Begins a file with the bytes of the one that it will replace. */
  FSDataOutputStream append(String path) throws IOException {
    statistics.incrementWriteOps(1);
    StoredFile before = opened(path);
    StoreOutputStream to = null;
    try {
      to = begun(path, false, null);
      to.copy(before);
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

  /** Puts files at the end of the first, and removes them there. */
  void concat(List<String> paths) throws IOException {
    statistics.incrementWriteOps(1);
    if (paths.size() < 2) {
      throw new IllegalArgumentException("there is nothing to put at the end of " + paths);
    }
    if (Set.copyOf(paths).size() < paths.size()) {
      throw new IOException("a file is named twice: " + paths);
    }
    StoreOutputStream all = begun(paths.get(0), false, null);
    try {
      for (String path : paths) {
        StoredFile file = opened(path);
        try {
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

  /** Opens a file to read; to be closed. */
  StoredFile opened(String path) throws IOException {
    try {
      return client.open(path);
    } catch (IOException error) {
      throw Failures.of(StoreNames.shown(path), error);
    }
  }

  private StoreOutputStream begun(String path, boolean isNew, String write) throws IOException {
    try {
      return new StoreOutputStream(client.folder(), path, write == null ? mode : write, isNew);
    } catch (IOException error) {
      throw Failures.making(StoreNames.shown(path), error);
    }
  }
}
