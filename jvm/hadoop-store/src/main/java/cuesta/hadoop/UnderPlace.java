package cuesta.hadoop;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Set;

/**
 * A file or folder of the under level that is reached without the store, below its root whatever
 * links are on the way: as the daemon reaches it.
 *
 * <p>Each folder on the way is open and its names are looked up in it without following links, so
 * that a link that is planted meanwhile is not followed either.
 */
final class UnderPlace implements Closeable {
  private static final int LINKS_MAX = 40;

  private final Path root;
  private final Deque<SecureDirectoryStream<Path>> folders = new ArrayDeque<>();
  private final Deque<String> names = new ArrayDeque<>();
  private BasicFileAttributes file;
  private boolean isLink;

  private UnderPlace(Path root) {
    this.root = root;
  }

  /**
   * Finds a path; to be closed.
   *
   * <p>Errors: Outside where a link leads out of the root; StoreRefusal below a file;
   * those of the system.
   */
  static UnderPlace find(Path root, String path) throws IOException {
    UnderPlace place = new UnderPlace(root);
    try {
      place.folders.push(secure(Files.newDirectoryStream(root)));
      place.walk(path);
      return place;
    } catch (IOException | RuntimeException error) {
      place.close();
      throw error;
    }
  }

  /** Its path, without links. */
  Path path() {
    Path path = root;
    for (String name : (Iterable<String>) names::descendingIterator) {
      path = path.resolve(NameBytes.path(name));
    }
    return path;
  }

  /** Whether it is a folder. */
  boolean isFolder() {
    return file == null;
  }

  /** Whether its last name is a symbolic link. */
  boolean isLink() {
    return isLink;
  }

  /** Opens a file. Errors: IOException for what is no regular file; those of the system. */
  FileChannel open() throws IOException {
    checkRegular();
    Set<OpenOption> options = Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
    Path name = NameBytes.path(names.peek());
    SeekableByteChannel opened = folders.peek().newByteChannel(name, options);
    if (opened instanceof FileChannel channel) {
      return channel;
    }
    opened.close();
    throw new IOException("this Java opens no files in a folder");
  }

  /** Errors: IOException for a pipe or another thing that is no file with bytes. */
  void checkRegular() throws IOException {
    if (file == null || !file.isRegularFile()) {
      throw new IOException(path() + ": it is no regular file");
    }
  }

  /** The names in a folder. */
  List<String> list() throws IOException {
    List<String> entries = new ArrayList<>();
    openLast();
    try {
      for (Path entry : folders.peek()) {
        entries.add(NameBytes.text(entry.getFileName()));
      }
    } catch (DirectoryIteratorException error) {
      throw error.getCause();
    }
    Collections.sort(entries);
    return entries;
  }

  @Override
  public void close() {
    for (DirectoryStream<Path> folder : folders) {
      try {
        folder.close();
      } catch (IOException error) {
        // It was only read.
      }
    }
    folders.clear();
  }

  private void walk(String path) throws IOException {
    Deque<String> steps = new ArrayDeque<>(List.of(path.split("/")));
    // Steps of the path itself that are left: the others are those of links.
    int originals = steps.size();
    int links = 0;
    while (!steps.isEmpty()) {
      String step = steps.pop();
      boolean isLast = steps.isEmpty() && originals > 0;
      originals = Math.min(originals, steps.size());
      if (step.isEmpty() || step.equals(".")) {
        continue;
      }
      if (file != null) {
        throw new StoreRefusal("it is below a file", StoreRefusal.NO_FOLDER, true);
      }
      if (step.equals("..")) {
        leave();
        continue;
      }
      BasicFileAttributes facts = facts(step);
      if (facts.isSymbolicLink()) {
        if (++links > LINKS_MAX) {
          throw new FileSystemLoopException(path);
        }
        isLink |= isLast;
        Path target = Files.readSymbolicLink(path().resolve(NameBytes.path(step)));
        if (target.isAbsolute()) {
          throw outside();
        }
        for (int i = target.getNameCount() - 1; i >= 0; i--) {
          steps.push(NameBytes.text(target.getName(i)));
        }
      } else {
        names.push(step);
        file = facts.isDirectory() ? null : facts;
      }
    }
  }

  /** Opens the last folder: to know that there is one, it need not be readable. */
  private void openLast() throws IOException {
    if (folders.size() == names.size()) {
      Path name = NameBytes.path(names.peek());
      folders.push(secure(folders.peek().newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)));
    }
  }

  private BasicFileAttributes facts(String name) throws IOException {
    openLast();
    return folders
        .peek()
        .getFileAttributeView(
            NameBytes.path(name), BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
        .readAttributes();
  }

  private void leave() throws IOException {
    if (names.isEmpty()) {
      throw outside();
    }
    if (folders.size() > names.size()) {
      folders.pop().close();
    }
    names.pop();
  }

  private Outside outside() {
    return new Outside(path().toString());
  }

  /** A link that leads out of the root. */
  static final class Outside extends AccessDeniedException {
    private static final long serialVersionUID = 1;

    Outside(String path) {
      super(path, null, "a symbolic link leads out of the under level");
    }
  }

  private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> folder)
      throws IOException {
    if (folder instanceof SecureDirectoryStream<Path> secure) {
      return secure;
    }
    folder.close();
    throw new IOException("this Java opens no files in a folder");
  }
}
