package cuesta.hadoop;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.apache.hadoop.fs.Options.OpenFileOptions.FS_OPTION_OPENFILE_STANDARD_OPTIONS;
import static org.apache.hadoop.fs.impl.AbstractFSBuilderImpl.rejectUnknownMandatoryKeys;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.InvalidPathHandleException;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathHandle;
import org.apache.hadoop.fs.impl.OpenFileParameters;
import org.apache.hadoop.fs.impl.PathCapabilitiesSupport;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.LambdaUtils;
import org.apache.hadoop.util.Progressable;

/**
 * The store of this machine as Hadoop's file system {@code cuesta:///}.
 *
 * <p>A file that is open is one version of it. The store is its user's alone, so there are no
 * owners and no modes but those of that. Settings: {@link StoreSettings}.
 */
public class CuestaFileSystem extends FileSystem {
  /** Scheme of its URIs. */
  public static final String SCHEME = "cuesta";

  private static final String ATTRIBUTES = "user.cuesta.";
  private static final URI ROOT = URI.create(SCHEME + ":///");
  private static final FsPermission OF_FILES = FsPermission.createImmutable((short) 0600);
  private static final FsPermission OF_FOLDERS = FsPermission.createImmutable((short) 0700);

  private StoreClient client;
  private StoreNames names;
  private StoreWrites writes;
  private StorePlaces places;
  private Path working;
  private String user;

  /** Connects. Errors: IOException, one line, for wrong settings or where no store runs. */
  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    super.initialize(uri, conf);
    if (uri.getAuthority() != null) {
      throw new IOException(
          uri + " names a host, " + uri.getAuthority() + "; give cuesta:///path");
    }
    OneJar.check();
    setConf(conf);
    StoreSettings settings = StoreSettings.of(conf);
    client = StoreClient.of(settings.folder());
    names = new StoreNames(client);
    writes = new StoreWrites(client, names, settings.write(), statistics);
    places = new StorePlaces(client, settings.host());
    user = UserGroupInformation.getCurrentUser().getShortUserName();
    working = getHomeDirectory();
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public URI getUri() {
    return ROOT;
  }

  @Override
  public Path getWorkingDirectory() {
    return working;
  }

  @Override
  public void setWorkingDirectory(Path path) {
    working = fixed(path);
  }

  @Override
  @SuppressWarnings("deprecation")
  public long getDefaultBlockSize() {
    return client.blockBytes();
  }

  @Override
  @SuppressWarnings("deprecation")
  public short getDefaultReplication() {
    return 1;
  }

  @Override
  public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
    statistics.incrementReadOps(1);
    return new FSDataInputStream(new StoreInputStream(writes.opened(key(path)), statistics));
  }

  /** Opens the version of a file that a handle names. */
  @Override
  public FSDataInputStream open(PathHandle handle, int bufferBytes) throws IOException {
    StoreHandle wanted = StoreHandle.of(handle);
    StoredFile file;
    try {
      file = client.open(wanted.path());
    } catch (IOException error) {
      throw new InvalidPathHandleException(wanted.path() + " is gone: " + error.getMessage());
    }
    if (!wanted.names(file.version)) {
      file.close();
      throw new InvalidPathHandleException(wanted.path() + " was changed or replaced");
    }
    return new FSDataInputStream(new StoreInputStream(file, statistics));
  }

  /** For the file under a name: of the size and time of a status, or whichever it is by then. */
  @Override
  protected PathHandle createPathHandle(FileStatus status, Options.HandleOpt... options) {
    boolean mayChange = false;
    for (Options.HandleOpt option : options) {
      mayChange |= option instanceof Options.HandleOpt.Data data && data.allowChange();
      if (option instanceof Options.HandleOpt.Location where && where.allowChange()) {
        throw new UnsupportedOperationException("a handle follows no file to another name");
      }
    }
    String key = key(status.getPath());
    return mayChange ? StoreHandle.any(key) : StoreHandle.exact(key, status);
  }

  @Override
  protected CompletableFuture<FSDataInputStream> openFileWithOptions(
      PathHandle handle, OpenFileParameters parameters) throws IOException {
    rejectUnknownMandatoryKeys(
        parameters.getMandatoryKeys(), FS_OPTION_OPENFILE_STANDARD_OPTIONS, "for a handle");
    return LambdaUtils.eval(new CompletableFuture<>(), () -> open(handle, 0));
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    statistics.incrementReadOps(1);
    try {
      return status(fixed(path), client.facts(key(path)));
    } catch (IOException error) {
      throw Failures.of(path, error);
    }
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    statistics.incrementReadOps(1);
    Path folder = fixed(path);
    List<StoreClient.Entry> entries;
    try {
      entries = client.list(key(path));
    } catch (StoreRefusal refusal) {
      if (refusal.errno == StoreRefusal.NO_FOLDER) {
        return new FileStatus[] {getFileStatus(path)};
      }
      throw Failures.of(path, refusal);
    } catch (IOException error) {
      throw Failures.of(path, error);
    }
    return entries.stream()
        .map(entry -> status(inside(folder, entry.name()), entry))
        .toArray(FileStatus[]::new);
  }

  /** Blocks in memory are on the machines whose stores have them. */
  @Override
  public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long count)
      throws IOException {
    if (file == null || file.getLen() <= start || file.isDirectory()) {
      return new BlockLocation[0];
    }
    if (start < 0 || count < 0) {
      throw new IllegalArgumentException("a range begins at " + start + " and has " + count);
    }
    return places.of(key(file.getPath()), file.getLen(), start, count);
  }

  /** Share of a file that is in memory, and its layout on servers: {@code user.cuesta.*}. */
  @Override
  public Map<String, byte[]> getXAttrs(Path path) throws IOException {
    try {
      Map<String, byte[]> found = new TreeMap<>();
      client
          .attributes(key(path))
          .forEach((name, value) -> found.put(ATTRIBUTES + name, value.getBytes(UTF_8)));
      return found;
    } catch (IOException error) {
      throw Failures.of(path, error);
    }
  }

  @Override
  public byte[] getXAttr(Path path, String name) throws IOException {
    return getXAttrs(path).get(name);
  }

  @Override
  public Map<String, byte[]> getXAttrs(Path path, List<String> names) throws IOException {
    Map<String, byte[]> found = getXAttrs(path);
    found.keySet().retainAll(names);
    return found;
  }

  @Override
  public List<String> listXAttrs(Path path) throws IOException {
    return List.copyOf(getXAttrs(path).keySet());
  }

  /** Usage of the under level's disk. */
  @Override
  public FsStatus getStatus(Path path) throws IOException {
    FileStore disk = Files.getFileStore(client.under());
    long free = disk.getUsableSpace();
    return new FsStatus(disk.getTotalSpace(), disk.getTotalSpace() - free, free);
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferBytes,
      short replication,
      long blockBytes,
      Progressable progress)
      throws IOException {
    return create(path, permission, overwrite, null);
  }

  @Override
  @SuppressWarnings("deprecation")
  public FSDataOutputStream createNonRecursive(
      Path path,
      FsPermission permission,
      EnumSet<CreateFlag> flags,
      int bufferBytes,
      short replication,
      long blockBytes,
      Progressable progress)
      throws IOException {
    checkParent(path);
    return create(path, permission, flags.contains(CreateFlag.OVERWRITE), null);
  }

  @Override
  @SuppressWarnings("rawtypes")
  public FSDataOutputStreamBuilder createFile(Path path) {
    StoreFileBuilder builder = new StoreFileBuilder(this, path);
    return builder.create().overwrite(true);
  }

  /** Begins a file in a mode, or in that of the settings. */
  FSDataOutputStream create(Path path, FsPermission permission, boolean overwrites, String write)
      throws IOException {
    FsPermission wanted = permission == null ? FsPermission.getFileDefault() : permission;
    return writes.create(key(path), overwrites, write, Permissions.of(wanted, getConf()));
  }

  /** Errors: FileNotFoundException, ParentNotDirectoryException. */
  void checkParent(Path path) throws IOException {
    Path parent = fixed(path).getParent();
    if (parent != null && !getFileStatus(parent).isDirectory()) {
      throw new ParentNotDirectoryException(parent + " is a file");
    }
  }

  /** Copies the file to a new one, which has its place when it is closed: as dear as its size. */
  @Override
  public FSDataOutputStream append(Path path, int bufferBytes, Progressable progress)
      throws IOException {
    return writes.append(key(path));
  }

  /** Copies files to the end of another, which is replaced at the end: as dear as their sizes. */
  @Override
  public void concat(Path to, Path[] from) throws IOException {
    writes.concat(Stream.concat(Stream.of(to), Stream.of(from)).map(this::key).toList());
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    statistics.incrementWriteOps(1);
    return names.rename(key(from), key(to));
  }

  @Override
  @SuppressWarnings("deprecation")
  protected void rename(Path from, Path to, Options.Rename... options) throws IOException {
    rename(from, to, Arrays.asList(options).contains(Options.Rename.OVERWRITE));
  }

  /** As {@code FileContext.rename}. */
  void rename(Path from, Path to, boolean overwrites) throws IOException {
    statistics.incrementWriteOps(1);
    names.rename(key(from), key(to), overwrites);
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    statistics.incrementWriteOps(1);
    return names.delete(key(path), recursive);
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) throws IOException {
    statistics.incrementWriteOps(1);
    FsPermission wanted = permission == null ? FsPermission.getDirDefault() : permission;
    names.makeFolders(key(path), Permissions.of(wanted, getConf()));
    return true;
  }

  @Override
  public boolean hasPathCapability(Path path, String capability) throws IOException {
    switch (PathCapabilitiesSupport.validatePathCapabilityArgs(fixed(path), capability)) {
      case CommonPathCapabilities.FS_APPEND:
      case CommonPathCapabilities.FS_CONCAT:
      case CommonPathCapabilities.FS_PATHHANDLES:
      case CommonPathCapabilities.ABORTABLE_STREAM:
        return true;
      default:
        return super.hasPathCapability(path, capability);
    }
  }

  private FileStatus status(Path path, StoreClient.Entry entry) {
    return new FileStatus(
        entry.sizeBytes(),
        entry.isFolder(),
        entry.isFolder() ? 0 : 1,
        entry.isFolder() ? 0 : client.blockBytes(),
        TimeUnit.NANOSECONDS.toMillis(entry.modifiedNs()),
        0,
        entry.isFolder() ? OF_FOLDERS : OF_FILES,
        user,
        user,
        path);
  }

  /** A name in a folder, which may look like a URI with a scheme. */
  private static Path inside(Path folder, String name) {
    return new Path(folder, new Path(null, null, name));
  }

  private Path fixed(Path path) {
    return path.makeQualified(ROOT, working);
  }

  /** The name of a path in the store. */
  private String key(Path path) {
    checkPath(path);
    String text = fixed(path).toUri().getPath();
    return text.startsWith("/") ? text.substring(1) : text;
  }
}
