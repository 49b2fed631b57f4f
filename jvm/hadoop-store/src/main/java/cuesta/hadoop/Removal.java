package cuesta.hadoop;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;

/**
 * Removal of files and folders: the only place of this jar that removes anything, and the only one
 * that does so recursively. Each name is removed by itself, after a list of the store.
 */
record Removal(StoreClient client) {
  private static final String ROOT = "";

  /**
   * Removes what is at a path; with {@code recursive}, a folder with all that is in it. The root
   * stays. Of a symbolic link of the under level the link alone is removed.
   *
   * <p>Errors: PathIsNotEmptyDirectoryException for a folder that is not empty otherwise.
   */
  boolean remove(String path, StoreClient.Entry entry, boolean recursive) throws IOException {
    if (path.equals(ROOT)) {
      boolean isEmpty = client.list(ROOT).isEmpty();
      if (!isEmpty && !recursive) {
        throw new PathIsNotEmptyDirectoryException(StoreNames.shown(path).toString());
      }
      return isEmpty;
    }
    if (recursive && isWalked(entry)) {
      removeFolder(path, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Limits.WRITERS_MS));
      return true;
    }
    return removeName(path);
  }

  /**
   * Removes a folder with all that is in it, and that others put into it meanwhile.
   *
   * <p>A file that is being written has no name yet, and keeps its folder: tasks of a job that was
   * given up close or abort theirs in a moment. It is tried again until {@code deadlineNs}.
   */
  private void removeFolder(String folder, long deadlineNs) throws IOException {
    while (true) {
      removeInside(folder, deadlineNs);
      try {
        removeName(folder);
        return;
      } catch (PathIsNotEmptyDirectoryException filled) {
        if (System.nanoTime() - deadlineNs > 0) {
          throw filled;
        }
      }
      boolean wasInterrupted = Thread.interrupted();
      try {
        TimeUnit.MILLISECONDS.sleep(Limits.WRITERS_PAUSE_MS);
      } catch (InterruptedException error) {
        wasInterrupted = true;
      }
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException(StoreNames.shown(folder) + ": removal was interrupted");
      }
    }
  }

  /** Removes a file, a link or an empty folder; no error where it is gone. */
  boolean removeName(String path) throws IOException {
    try {
      client.change(Json.question("remove", "path", path));
      return true;
    } catch (StoreRefusal refusal) {
      if (refusal.errno == StoreRefusal.NO_ENTRY) {
        // Another client was faster; or it was a folder of files in memory alone.
        return true;
      }
      throw Failures.of(StoreNames.shown(path), refusal);
    }
  }

  /** Removes all that is in a folder; no error where the folder does not exist. */
  private void removeInside(String folder, long deadlineNs) throws IOException {
    try {
      for (StoreClient.Entry entry : client.list(folder)) {
        String path = folder + "/" + entry.name();
        if (isWalked(entry)) {
          removeFolder(path, deadlineNs);
        } else {
          removeName(path);
        }
      }
    } catch (StoreRefusal refusal) {
      if (refusal.errno != StoreRefusal.NO_ENTRY) {
        throw Failures.of(StoreNames.shown(folder), refusal);
      }
    }
  }

  /** Whether an entry is a folder, and not a link to one. */
  private static boolean isWalked(StoreClient.Entry entry) {
    return entry.isFolder() && !entry.isLink();
  }
}
