package cuesta.hadoop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SocketChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.Map;
import jdk.net.ExtendedSocketOptions;
import jdk.net.UnixDomainPrincipal;

/** The folder of a store, checked before anything in it is believed: of this account alone. */
final class TrustedFolder {
  private static final String FACTS = "unix:uid,mode,ino,dev,isDirectory,isRegularFile";
  private static final int KIND = 0170000;
  private static final int SOCKET_KIND = 0140000;
  private static final int OF_OTHERS = 0077;
  private static final int PERMISSIONS = 0777;

  private TrustedFolder() {}

  /** The account that this process acts as, asked for once: the list may be on another machine. */
  private static final class Account {
    static final UserPrincipal OWNER = find();

    private static UserPrincipal find() {
      try {
        return Files.getOwner(Path.of("/proc/self"));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }

  /** A folder or a daemon of another account, to which nothing is sent. */
  static final class Foreign extends IOException {
    private static final long serialVersionUID = 1;

    Foreign(Path folder, String reason) {
      super(
          "store: " + folder + " " + reason + ": nothing was asked of it; name a folder of your "
              + "account for the store and its clients by " + StoreSettings.STORE);
    }
  }

  /**
   * Returns what identifies a folder that this account owns and no other account may enter.
   *
   * <p>Errors: Foreign for another folder; those of the system where there is none.
   */
  static Object check(Path folder) throws IOException {
    Map<String, Object> facts = facts(folder);
    Object owner = facts.get("uid");
    if (!Boolean.TRUE.equals(facts.get("isDirectory"))) {
      throw new Foreign(folder, "is no folder, and belongs to account " + owner);
    }
    Object account = account();
    if (!owner.equals(account)) {
      String reason = "belongs to account " + owner + ", and this is account " + account;
      throw new Foreign(folder, reason);
    }
    int mode = (Integer) facts.get("mode");
    if ((mode & OF_OTHERS) != 0) {
      String bits = Integer.toOctalString(mode & PERMISSIONS);
      throw new Foreign(folder, "is open to other accounts (mode " + bits + ")");
    }
    return Map.of("device", facts.get("dev"), "inode", facts.get("ino"));
  }

  /** Errors: Foreign where the name of the socket has something else. */
  static void checkSocket(Path folder, Path socket) throws IOException {
    if (((Integer) facts(socket).get("mode") & KIND) != SOCKET_KIND) {
      throw new Foreign(folder, "has something else under the socket's name");
    }
  }

  /**
   * Checks the daemon that a socket is connected to, and that the folder is the one that was
   * checked before. Errors: Foreign; those of the system.
   */
  static void checkServer(Path folder, Object identity, SocketChannel channel) throws IOException {
    UnixDomainPrincipal peer = channel.getOption(ExtendedSocketOptions.SO_PEERCRED);
    if (!peer.user().equals(Account.OWNER)) {
      String reason =
          "is served by account " + peer.user() + ", and this is account " + Account.OWNER;
      throw new Foreign(folder, reason);
    }
    if (!check(folder).equals(identity)) {
      throw new Foreign(folder, "was replaced by another folder");
    }
  }

  /** Errors: AccessDeniedException for what is no regular file of this account. */
  static void checkBlock(Path file) throws IOException {
    Map<String, Object> facts = facts(file);
    if (!Boolean.TRUE.equals(facts.get("isRegularFile")) || !facts.get("uid").equals(account())) {
      String reason = "it is no file of this account's store";
      throw new AccessDeniedException(file.toString(), null, reason);
    }
  }

  /** The number of the account that this process acts as. */
  static Object account() throws IOException {
    return Files.getAttribute(Path.of("/proc/self"), "unix:uid");
  }

  private static Map<String, Object> facts(Path file) throws IOException {
    return Files.readAttributes(file, FACTS, LinkOption.NOFOLLOW_LINKS);
  }
}
