package cuesta.hadoop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Says what names there are: for each line {@code list PATH}, {@code stat PATH}, {@code read PATH},
 * {@code write PATH}, {@code remove PATH}, {@code sizes PATH} or {@code make PATH} of standard
 * input, a line that begins with {@code ok} or {@code failed}; first {@code ready}.
 */
public final class NameLoop {
  private NameLoop() {}

  public static void main(String[] none) throws Exception {
    FileSystem system = FileSystem.get(URI.create("cuesta:///"), new Configuration());
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      try {
        System.out.println("ok " + answer(system, words[0], new Path(words[1])));
      } catch (IOException error) {
        System.out.println("failed " + error.getMessage());
      }
    }
  }

  private static String answer(FileSystem system, String question, Path path) throws IOException {
    switch (question) {
      case "list":
        FileStatus[] found = system.listStatus(path);
        return String.join(" ", Arrays.stream(found).map(one -> one.getPath().getName()).toList());
      case "stat":
        return system.getFileStatus(path).isDirectory() ? "folder" : "file";
      case "read":
        try (FSDataInputStream file = system.open(path)) {
          return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }
      case "write":
        try (FSDataOutputStream file = system.create(path)) {
          file.writeBytes("written");
        }
        return "written";
      case "remove":
        return system.delete(path, true) ? "removed" : "not removed";
      case "sizes":
        long sum = 0;
        FileStatus[] files = system.listStatus(path);
        for (FileStatus file : files) {
          sum += system.getFileStatus(file.getPath()).getLen();
        }
        return files.length + " " + sum;
      default:
        return system.mkdirs(path) ? "made" : "not made";
    }
  }
}
