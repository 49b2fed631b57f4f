package cuesta.hadoop;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;

/** Names of files and folders, changed as Hadoop's file systems change them. */
record StoreNames(StoreClient client) {
  private static final String ROOT = "";

  /** A path as Hadoop names it. */
  static Path shown(String path) {
    return new Path(CuestaFileSystem.SCHEME + ":///" + path);
  }

  /** Facts of the file at a path, or null. Errors: as {@link StoreClient#facts} otherwise. */
  StoreClient.Entry found(String path) throws IOException {
    try {
      return client.facts(path);
    } catch (IOException error) {
      IOException shown = Failures.of(shown(path), error);
      if (shown instanceof FileNotFoundException) {
        return null;
      }
      throw shown;
    }
  }

  /**
   * Makes a folder and those that it is in, with permission bits; no error where there is one.
   *
   * <p>Errors: FileAlreadyExistsException where it is a file, ParentNotDirectoryException where a
   * folder that it is in is one.
   */
  void makeFolders(String path, int permissions) throws IOException {
    if (path.equals(ROOT)) {
      return;
    }
    try {
      makeFolder(path, permissions);
    } catch (StoreRefusal refusal) {
      if (refusal.errno != StoreRefusal.NO_ENTRY) {
        throw Failures.making(shown(path), refusal);
      }
      makeFolders(parent(path), permissions);
      makeFolder(path, permissions);
    }
  }

  private void makeFolder(String path, int permissions) throws IOException {
    try {
      Object[] fields = {"path", path, "permissions", permissions};
      client.change(Json.question("make_folder", fields));
    } catch (StoreRefusal refusal) {
      if (!Permissions.isUnknown(refusal)) {
        throw refusal;
      }
      client.change(Json.question("make_folder", "path", path));
    }
  }

  /**
   * Removes a file or folder; whether it was there. The root is only emptied, and that not. Of a
   * symbolic link on the under level, the link alone is removed, and not what it leads to.
   *
   * <p>Errors: PathIsNotEmptyDirectoryException for such a one, unless all of it is to go.
   */
  boolean delete(String path, boolean recursive) throws IOException {
    StoreClient.Entry entry = found(path);
    return entry != null && new Removal(client).remove(path, entry, recursive);
  }

  /**
   * Renames as HDFS does it: into a folder that is there, never onto a file, and false where it
   * cannot be.
   */
  boolean rename(String from, String to) throws IOException {
    StoreClient.Entry source = found(from);
    if (source == null || from.equals(ROOT) || to.startsWith(from + "/")) {
      return false;
    }
    String target = to;
    StoreClient.Entry taken = found(to);
    if (taken != null && taken.isFolder() && !from.equals(to)) {
      target = to.equals(ROOT) ? name(from) : to + "/" + name(from);
      taken = found(target);
    }
    if (from.equals(target)) {
      return !source.isFolder();
    }
    StoreClient.Entry folder = found(parent(target));
    if (taken != null || folder == null || !folder.isFolder()) {
      return false;
    }
    try {
      move(from, target, source, true);
      return true;
    } catch (StoreRefusal refusal) {
      if (refusal.errno == StoreRefusal.EXISTS || refusal.errno == StoreRefusal.NO_ENTRY) {
        return false;
      }
      throw Failures.of(shown(from), refusal);
    }
  }

  /**
   * Renames, in place of a file or an empty folder where it overwrites.
   *
   * <p>Errors: those of {@code FileContext.rename}. Guarantee: a file is replaced in one step.
   */
  void rename(String from, String to, boolean overwrites) throws IOException {
    StoreClient.Entry source = found(from);
    if (source == null) {
      throw Failures.missing(shown(from));
    }
    if (from.equals(to)) {
      throw new FileAlreadyExistsException(shown(from) + " and " + shown(to) + " are the same");
    }
    if (from.equals(ROOT) || to.startsWith(from + "/")) {
      throw new IOException(shown(from) + " cannot be renamed to " + shown(to) + ", inside it");
    }
    StoreClient.Entry taken = found(to);
    if (taken == null) {
      checkParent(to);
    } else if (!overwrites) {
      throw new FileAlreadyExistsException(shown(to) + " exists already");
    } else if (taken.isFolder() != source.isFolder() || to.equals(ROOT)) {
      String kinds = taken.isFolder() ? " is a directory, " : " is a file, ";
      throw new IOException(shown(to) + kinds + shown(from) + " is not");
    }
    try {
      if (taken != null && taken.isFolder() && !client.list(to).isEmpty()) {
        // Moved file by file, what is in both would be in one.
        throw new PathIsNotEmptyDirectoryException(shown(to).toString());
      }
      move(from, to, source, !overwrites);
    } catch (StoreRefusal refusal) {
      if (refusal.errno == StoreRefusal.NOT_EMPTY) {
        throw Failures.of(shown(to), refusal);
      }
      throw Failures.making(shown(to), refusal);
    }
  }

  private void checkParent(String path) throws IOException {
    StoreClient.Entry folder = found(parent(path));
    if (folder == null) {
      throw Failures.missing(shown(parent(path)));
    }
    if (!folder.isFolder()) {
      throw new ParentNotDirectoryException(shown(parent(path)) + " is a file");
    }
  }

  /** Moves in one step, or, a folder with files in memory alone, file by file. */
  private void move(String from, String to, StoreClient.Entry source, boolean isNew)
      throws IOException {
    try {
      client.change(Json.question("rename", "path", from, "to", to, "is_new", isNew));
    } catch (StoreRefusal refusal) {
      if (refusal.errno != StoreRefusal.OTHER_DEVICE || !source.isFolder() || source.isLink()) {
        throw refusal;
      }
      makeFolders(to, Permissions.ofFolder());
      for (StoreClient.Entry entry : client.list(from)) {
        move(from + "/" + entry.name(), to + "/" + entry.name(), entry, true);
      }
      new Removal(client).removeName(from);
    }
  }

  /** The folder that a path is in. */
  static String parent(String path) {
    return path.substring(0, Math.max(0, path.lastIndexOf('/')));
  }

  private static String name(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
