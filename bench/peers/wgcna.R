# What a user of WGCNA runs instead, whole: from the text of a matrix to its tables.
#
#   Rscript bench/peers/wgcna.R modules|powers MATRIX FOLDER
#   Rscript bench/peers/wgcna.R version
#
# Two threads; those of BLAS come from its variables.

suppressPackageStartupMessages(library(WGCNA))
words <- commandArgs(TRUE)
if (words[1] == "version") {
  cat("WGCNA", as.character(packageVersion("WGCNA")), "R", as.character(getRversion()),
      "BLAS", basename(dirname(extSoftVersion()[["BLAS"]])), "\n")
  quit()
}
invisible(enableWGCNAThreads(2))
data.table::setDTthreads(2)

table <- data.table::fread(words[2])
samples <- t(as.matrix(table[, -1]))
colnames(samples) <- table[[1]]
rm(table)
write <- function(data, name)
  data.table::fwrite(data, file.path(words[3], name), sep = "\t", quote = FALSE)

modules <- function() {
  made <- blockwiseModules(
    samples, power = 6, networkType = "unsigned", maxBlockSize = 50000, minModuleSize = 30,
    numericLabels = TRUE, nThreads = 2, verbose = 0
  )
  write(data.frame(gene = colnames(samples), module = made$colors), "modules.tsv")
  write(cbind(sample = rownames(samples), made$MEs), "eigengenes.tsv")
}

powers <- function() {
  made <- pickSoftThreshold(samples, powerVector = c(1:10, seq(12, 20, 2)), verbose = 0)
  write(made$fitIndices, "powers.tsv")
}

switch(words[1], modules = modules(), powers = powers())
