package cuesta.mapreduce;

import java.io.File;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.v2.jobhistory.JobHistoryUtils;

/** Task events that the master of a job has written, before the history server has them. */
final class History {
  private History() {}

  /** Copies the history of a job that has ended into a folder; without one there is none. */
  static void keep(Configuration conf, JobID job, File folder) {
    try {
      Path from = new Path(JobHistoryUtils.getHistoryIntermediateDoneDirForUser(conf));
      FileSystem files = from.getFileSystem(conf);
      FileStatus[] found = files.globStatus(new Path(from, job + "-*.jhist"));
      if (found != null && folder.mkdirs()) {
        for (FileStatus one : found) {
          File copy = new File(folder, one.getPath().getName());
          FileUtil.copy(files, one.getPath(), copy, false, conf);
        }
      }
    } catch (IOException | RuntimeException error) {
      // A run has an answer without it.
      System.err.println("no history of " + job + ": " + error);
    }
  }
}
