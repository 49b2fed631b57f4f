# Writes the stages of WGCNA for expression matrices, a line each: name, then numbers of 17 digits.
#
#   Rscript tools/modules_oracle.R MATRIX STAGES POWER MIN_SIZE [MATRIX STAGES POWER MIN_SIZE...]
#
# A negative POWER writes the way from the matrix to the end only, as a user goes it, for an
# unsigned network and a signed hybrid one of that power, and a signed one of twice it.
#
# MATRIX has a row of numbers a gene, "NA" where one is missing. Called by modules_oracle.py.

suppressPackageStartupMessages({
  library(WGCNA)
  library(dynamicTreeCut)
})
disableWGCNAThreads()
options(warn = -1)

put <- function(name, values) {
  text <- ifelse(is.na(values), "NA", sprintf("%.17g", as.numeric(values)))
  writeLines(paste(c(name, text), collapse = "\t"), output)
}
# Pairs i < j, row by row: the lower triangle by columns.
pairs <- function(matrix) as.vector(matrix[lower.tri(matrix)])

correlations <- function() {
  put("r", pairs(WGCNA::cor(samples, use = "p")))
  for (outliers in c(1, 0.1)) for (fallback in c("individual", "all", "none")) {
    r <- bicor(samples, use = "p", maxPOutliers = outliers, pearsonFallback = fallback)
    put(paste("bicor", outliers, fallback, sep = "/"), pairs(r))
  }
}

good <- function() {
  parts <- goodSamplesGenes(samples, verbose = 0)
  put("good/genes", parts$goodGenes)
  put("good/samples", parts$goodSamples)
  samples <<- samples[parts$goodSamples, parts$goodGenes]
}

overlaps <- function() {
  r <- WGCNA::cor(samples, use = "p")
  networks <- list("unsigned" = abs(r), "signed" = (1 + r) / 2, "signed hybrid" = pmax(r, 0))
  for (network in names(networks)) {
    adjacency <- networks[[network]]^power
    put(paste("adjacency", network, sep = "/"), pairs(adjacency))
    put(paste("overlap", network, "unsigned/min", sep = "/"),
        pairs(TOMsimilarity(adjacency, TOMType = "unsigned", verbose = 0)))
  }
  signed <- sign(r) * abs(r)^power
  for (kind in c("signed", "signed Nowick", "unsigned 2", "signed 2", "signed Nowick 2"))
    for (denominator in c("min", "mean")) {
      adjacency <- if (startsWith(kind, "unsigned")) abs(signed) else signed
      # This version refuses negative adjacencies for some kinds.
      overlap <- tryCatch(
        TOMsimilarity(adjacency, TOMType = kind, TOMDenom = denominator, verbose = 0),
        error = function(e) NULL
      )
      name <- paste("overlap/sign kept", kind, denominator, sep = "/")
      if (!is.null(overlap)) put(name, pairs(overlap))
    }
  for (network in names(networks)) {
    table <- pickSoftThreshold(samples, powerVector = 1:20, networkType = network, verbose = 0)
    for (column in c(2:7)) {
      put(paste("power", network, names(table$fitIndices)[column], sep = "/"),
          table$fitIndices[[column]])
    }
    put(paste("power", network, "estimate", sep = "/"), table$powerEstimate)
  }
}

cut_one <- function(name, tree, distances, ...) {
  arguments <- modifyList(list(
    dendro = tree, distM = distances, minClusterSize = min_size, deepSplit = 2, verbose = 0
  ), list(...))
  labels <- tryCatch(do.call(cutreeHybrid, arguments)$labels, error = function(e) NULL)
  if (!is.null(labels)) put(name, labels)
}

# On distances in thousandths, so that both sides have the same numbers, and ties.
trees <- function() {
  adjacency <- abs(WGCNA::cor(samples, use = "p"))^power
  for (digits in c(2, 4)) {
    overlap <- TOMsimilarity(adjacency, TOMType = "unsigned", verbose = 0)
    counts <- round((1 - overlap) * 10^digits)
    distances <- counts / 10^digits
    diag(distances) <- 0
    dimnames(distances) <- NULL
    name <- paste("tree", digits, sep = "/")
    put(paste(name, "distances", sep = "/"), pairs(counts))
    tree <- fastcluster::hclust(as.dist(distances), method = "average")
    put(paste(name, "merge", sep = "/"), as.vector(t(tree$merge)))
    put(paste(name, "height", sep = "/"), tree$height)
    put(paste(name, "order", sep = "/"), tree$order)
    cut <- function(label, ...) cut_one(paste(name, "cut", label, sep = "/"), tree, distances, ...)
    # A large input has all cuts, the others fewer.
    is_large <- ncol(samples) > 150
    for (deep in if (is_large || digits == 4) 0:4 else c(1, 3)) {
      for (pam in 0:1) for (respect in 0:1) {
        sizes <- if (is_large) c(5, min_size) else if (deep == 1) 5 else min_size
        for (size in sizes) {
          cut(paste("deep", deep, pam, respect, size, sep = " "), deepSplit = deep,
              pamStage = pam == 1, pamRespectsDendro = respect == 1, minClusterSize = size)
        }
      }
    }
    if (!is_large && digits == 2) next
    cut("fraction", deepSplit = 2.5)
    cut("low", cutHeight = tree$height[floor(0.6 * length(tree$height))])
    cut("high", cutHeight = 2 * max(tree$height))
    cut("near", maxPamDist = 0)
    cut("genes alone", respectSmallClusters = FALSE)
    cut("tight", maxCoreScatter = 0.5, minGap = 0.1)
    cut("odd", minClusterSize = 7, deepSplit = 3)
  }
}

modules <- function() {
  for (network in c("unsigned", "signed")) for (measure in c("pearson", "bicor")) {
    for (height in if (measure == "bicor") 0.15 else c(0.15, 0.5)) {
      result <- tryCatch(
        blockwiseModules(
          samples, power = power, networkType = network, corType = measure, deepSplit = 3,
          minModuleSize = min_size, mergeCutHeight = height, numericLabels = TRUE,
          maxBlockSize = 50000, pamRespectsDendro = FALSE, saveTOMs = FALSE, verbose = 0
        ),
        error = function(e) NULL
      )
      if (is.null(result)) next
      name <- paste("modules", network, measure, height, sep = "/")
      put(paste(name, "unmerged", sep = "/"), result$unmergedColors)
      put(paste(name, "labels", sep = "/"), result$colors)
      put(paste(name, "columns", sep = "/"), as.integer(sub("ME", "", names(result$MEs))))
      put(paste(name, "height", sep = "/"), result$dendrograms[[1]]$height)
      last <- result
    }
  }
  labels <- last$unmergedColors
  if (max(labels) == 0) return(invisible())
  eigengenes <- moduleEigengenes(samples, labels, excludeGrey = TRUE)
  put("eigengenes/labels", labels)
  put("eigengenes/values", as.vector(as.matrix(eigengenes$eigengenes)))
  put("eigengenes/explained", as.vector(as.matrix(eigengenes$varExplained)))
  put("eigengenes/membership", as.vector(t(as.matrix(signedKME(samples, eigengenes$eigengenes)))))
  for (height in c(0.1, 0.25, 0.6)) {
    merged <- mergeCloseModules(samples, labels, cutHeight = height, verbose = 0)
    put(paste("merged", height, sep = "/"), merged$colors)
    colours <- mergeCloseModules(samples, labels2colors(labels), cutHeight = height, verbose = 0)
    put(paste("merged colours", height, sep = "/"),
        match(colours$colors, c("grey", standardColors(30))) - 1)
  }
}

whole <- function(power) {
  for (network in c("unsigned", "signed", "signed hybrid")) {
    table <- pickSoftThreshold(samples, networkType = network, verbose = 0)
    for (column in c(2:7)) {
      put(paste("whole power", network, names(table$fitIndices)[column], sep = "/"),
          table$fitIndices[[column]])
    }
    put(paste("whole power", network, "estimate", sep = "/"), table$powerEstimate)
  }
  for (network in c("unsigned", "signed", "signed hybrid")) for (deep in 0:4) {
    raised <- if (network == "signed") 2 * power else power
    result <- tryCatch(
      blockwiseModules(
        samples, power = raised, networkType = network, deepSplit = deep,
        minModuleSize = min_size, numericLabels = TRUE, maxBlockSize = 50000, verbose = 0
      ),
      error = function(e) NULL
    )
    if (is.null(result)) next
    name <- paste("whole/pearson", network, raised, min_size, deep, sep = "/")
    put(paste(name, "unmerged", sep = "/"), result$unmergedColors)
    put(paste(name, "labels", sep = "/"), result$colors)
    put(paste(name, "columns", sep = "/"), as.integer(sub("ME", "", names(result$MEs))))
    put(paste(name, "eigengenes", sep = "/"), as.vector(as.matrix(result$MEs)))
    put(paste(name, "height", sep = "/"), result$dendrograms[[1]]$height)
    put(paste(name, "membership", sep = "/"), memberships(result))
  }
}

# The correlation of each gene with the eigengene of its module, NA in grey.
memberships <- function(result) {
  all <- as.matrix(signedKME(samples, result$MEs, outputColumnName = ""))
  places <- match(result$colors, as.integer(colnames(all)))
  ifelse(result$colors == 0, NA, all[cbind(seq_along(places), places)])
}

cases <- matrix(commandArgs(trailingOnly = TRUE), nrow = 4)
for (case in seq_len(ncol(cases))) {
  genes <- as.matrix(read.table(cases[1, case], header = FALSE, na.strings = "NA"))
  dimnames(genes) <- list(paste0("g", seq_len(nrow(genes))), paste0("s", seq_len(ncol(genes))))
  output <- file(cases[2, case], "w")
  power <- as.integer(cases[3, case])
  min_size <- as.integer(cases[4, case])
  samples <- t(genes)
  if (power < 0) {
    whole(-power)
  } else {
    correlations()
    good()
    overlaps()
    trees()
    modules()
  }
  close(output)
}
