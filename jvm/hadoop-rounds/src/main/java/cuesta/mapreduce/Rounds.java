package cuesta.mapreduce;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.VersionInfo;

/**
 * Has rounds done as jobs of MapReduce, one after the other.
 *
 * <p>The first line of the standard output is `ready` with Hadoop's version. Each line of the
 * standard input then names a file of Hadoop's settings for a round, of which lines `progress PART`
 * tell, and at last `counter NAME COUNT` and `done`, or else `refused` or `failed WHY`. At the end
 * of the input a job that runs is killed.
 */
public final class Rounds {
  private static final int POLL_MS = 50;
  private static final int KILL_MS = 8000;

  /** A framework that writes no history. */
  private static final String LOCAL = MRConfig.LOCAL_FRAMEWORK_NAME;

  /** State that Hadoop reports for a job whose end it does not know. */
  private static final String NOT_AVAILABLE = "NA";

  /** The last attempt of a task that failed has a word of its own. */
  private static final Set<TaskCompletionEvent.Status> FAILED =
      EnumSet.of(TaskCompletionEvent.Status.FAILED, TaskCompletionEvent.Status.TIPFAILED);

  private static final Map<String, Enum<?>> COUNTERS = counters();
  private static final PrintStream OUT = System.out;

  /** The job that runs, if one does. */
  private Job job;

  /** Whether no other job shall be submitted. */
  private boolean isEnded;

  private Rounds() {}

  /** Does what the standard input says. */
  public static void main(String[] arguments) throws IOException {
    // What is logged is no answer.
    System.setOut(System.err);
    Rounds rounds = new Rounds();
    Runtime.getRuntime().addShutdownHook(new Thread(rounds::end));
    ExecutorService one = Executors.newSingleThreadExecutor();
    say("ready " + VersionInfo.getVersion());
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String file = line;
      one.execute(() -> say(rounds.runRound(file)));
    }
    System.exit(0);
  }

  private static synchronized void say(String line) {
    OUT.println(line);
    OUT.flush();
  }

  /** Runs a round; returns the line for its end: `done`, `refused` or `failed WHY`. */
  private String runRound(String file) {
    try {
      Configuration conf = new Configuration();
      conf.addResource(Paths.get(file).toUri().toURL());
      return run(conf);
    } catch (Throwable error) {
      // The client waits for a line, whatever the error is.
      return "failed " + oneLine(error.toString());
    }
  }

  private String run(Configuration conf)
      throws IOException, ClassNotFoundException, InterruptedException {
    File folder = new File(conf.getRaw(Settings.FOLDER));
    Job running = begin(conf);
    try {
      while (!running.isComplete()) {
        if (isRefused(folder)) {
          return "refused";
        }
        float reduces = running.getNumReduceTasks() == 0 ? 0 : running.reduceProgress();
        int kinds = running.getNumReduceTasks() == 0 ? 1 : 2;
        say("progress " + (running.mapProgress() + reduces) / kinds);
        Thread.sleep(POLL_MS);
      }
      if (!running.isSuccessful()) {
        return isRefused(folder) ? "refused" : "failed " + oneLine(why(running));
      }
      count(running.getCounters());
      if (!LOCAL.equals(conf.get(MRConfig.FRAMEWORK_NAME))) {
        History.keep(conf, running.getJobID(), new File(folder, Settings.HISTORY));
      }
      return "done";
    } finally {
      kill();
    }
  }

  /** A folder that is listed is looked at, where a node may remember that a file was not there. */
  private static boolean isRefused(File folder) {
    String[] names = folder.list();
    return names != null && Arrays.asList(names).contains(Settings.REFUSED);
  }

  private synchronized Job begin(Configuration conf)
      throws IOException, ClassNotFoundException, InterruptedException {
    if (isEnded) {
      throw new IOException("nothing more is wanted");
    }
    Job made = Job.getInstance(conf);
    made.setJarByClass(Rounds.class);
    made.setInputFormatClass(TaskNumbers.class);
    if (conf.getBoolean(Settings.TEXT, false)) {
      made.setMapperClass(PairMapper.class);
      made.setMapOutputKeyClass(PairKey.class);
      made.setMapOutputValueClass(Text.class);
      made.setPartitionerClass(ByPairPart.class);
      made.setReducerClass(PairReducer.class);
    } else {
      made.setMapperClass(TaskMapper.class);
      made.setMapOutputKeyClass(BlockKey.class);
      made.setMapOutputValueClass(BytesWritable.class);
      made.setPartitionerClass(ByPart.class);
      made.setReducerClass(PartReducer.class);
    }
    made.setOutputKeyClass(BlockKey.class);
    made.setOutputValueClass(BytesWritable.class);
    made.setOutputFormatClass(FoundFiles.class);
    made.setNumReduceTasks(conf.getInt(Settings.PARTS, 0));
    made.submit();
    job = made;
    return made;
  }

  private synchronized void end() {
    isEnded = true;
    kill();
  }

  /** Kills the job that runs, if it has not ended, and its children of this JVM. */
  private synchronized void kill() {
    Job running = job;
    job = null;
    try {
      if (running != null && !running.isComplete()) {
        running.killJob();
        long until = System.currentTimeMillis() + KILL_MS;
        while (!running.isComplete() && System.currentTimeMillis() < until) {
          Child.killAll();
          Thread.sleep(POLL_MS);
        }
      }
    } catch (IOException error) {
      // Its cluster has ended, or does not answer: then the job has no use either.
      Child.killAll();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Reason why a job failed: that of the first failed attempt, otherwise that of the job. */
  private static String why(Job failed) throws IOException, InterruptedException {
    int asked = 0;
    TaskCompletionEvent[] events = failed.getTaskCompletionEvents(asked);
    // They come ten at a time.
    while (events.length > 0) {
      for (TaskCompletionEvent event : events) {
        if (FAILED.contains(event.getStatus())) {
          for (String said : failed.getTaskDiagnostics(event.getTaskAttemptId())) {
            return said;
          }
        }
      }
      asked += events.length;
      events = failed.getTaskCompletionEvents(asked);
    }
    JobStatus status = failed.getStatus();
    String told = status.getFailureInfo();
    boolean isTold = told != null && !told.trim().isEmpty() && !told.equals(NOT_AVAILABLE);
    return isTold ? told : "the job " + status.getState();
  }

  private static void count(Counters all) {
    if (all != null) {
      COUNTERS.forEach(
          (name, counter) ->
              say("counter " + name + " " + all.findCounter(counter).getValue()));
      long child = all.findCounter(Child.TIMES, Child.CHILD_CPU).getValue();
      say("counter child_cpu_ms " + child);
    }
  }

  private static Map<String, Enum<?>> counters() {
    Map<String, Enum<?>> found = new LinkedHashMap<>();
    found.put("maps", JobCounter.TOTAL_LAUNCHED_MAPS);
    found.put("reduces", JobCounter.TOTAL_LAUNCHED_REDUCES);
    found.put("maps_failed", JobCounter.NUM_FAILED_MAPS);
    found.put("reduces_failed", JobCounter.NUM_FAILED_REDUCES);
    found.put("map_run_ms", JobCounter.MILLIS_MAPS);
    found.put("reduce_run_ms", JobCounter.MILLIS_REDUCES);
    found.put("cpu_ms", TaskCounter.CPU_MILLISECONDS);
    found.put("gc_ms", TaskCounter.GC_TIME_MILLIS);
    found.put("shuffle_write_bytes", TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES);
    found.put("shuffle_read_bytes", TaskCounter.REDUCE_SHUFFLE_BYTES);
    return found;
  }

  private static String oneLine(String text) {
    return text.trim().replaceAll("\\s+", " ");
  }
}
