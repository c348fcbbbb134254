import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { baseFileOf, layoutOf } from '../../files/layout.js'
import { type BuildStage, buildMap } from '../../mapbuild/build-map.js'
import type { TurnCosts } from '../../mapbuild/graph/turn-prices.js'
import { type GraphParts, writeGraphFile } from '../../mapbuild/graph/write-graph.js'
import type { ProfileName } from '../../mapbuild/profile/profile.js'
import { checkFolder, fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { readSettings } from '../settings.js'
import { type LongWork, withProgress } from '../with-progress.js'
import { readAreaFile } from './area-file.js'
import { BASE_SHARE, type BaseBuild, baseLines, buildBaseFile } from './base-build.js'
import { createLeftOutReport, type LeftOutReport, leftOutLines } from './left-out-report.js'
import { countsOf, group, megabytes } from './map-facts.js'

/** Options of `map build`. */
export interface BuildFlags extends GlobalOptions {
  output?: string
  profile: ProfileName
  area?: string
  country?: string
  turnCosts?: TurnCosts | 'none'
  report?: string
  base?: boolean
  force?: boolean
}

/** Part of the progress bar of each stage, by the time that it takes. */
const SHARES: Record<BuildStage, [from: number, to: number]> = {
  reading: [0, 0.45],
  building: [0.45, 0.6],
  ordering: [0.6, 1],
}

/**
 * Runs `map build`: reads the extract, builds the map, writes it under a temporary name and renames it.
 * SIGINT stops the build and leaves no file.
 */
export async function runMapBuild(
  extract: string,
  flags: BuildFlags,
  io: CliIo,
  deps: CliDeps,
): Promise<void> {
  const startedAt = performance.now()
  const { dataDir, config } = readSettings(flags, deps)
  const { input, output, base, name, mapsDir } = findFiles(extract, flags, dataDir, deps)
  const area = flags.area === undefined ? undefined : readAreaFile(path.resolve(deps.cwd, flags.area))
  const leftOut = openReport(flags, deps)
  const build = async ({ progress, signal }: LongWork) => {
    const makeFolder = () => {
      if (flags.output === undefined) mkdirSync(mapsDir, { recursive: true, mode: 0o700 })
    }
    if (base !== undefined) makeFolder()
    const builtBase =
      base === undefined
        ? undefined
        : await buildBaseFile({
            input,
            file: base,
            name,
            area,
            version: deps.version,
            leftOut,
            progress,
            signal,
          })
    const from = base === undefined ? 0 : BASE_SHARE
    const parts = await buildMap({
      input,
      profile: flags.profile,
      country: flags.country ?? null,
      turnCosts: turnCostsOf(flags),
      area,
      name,
      builtBy: `fieldgate ${deps.version}`,
      onLeftOut: leftOut?.add,
      signal,
      onProgress: (stage, done, total) =>
        progress.show(from + (1 - from) * share(stage, done / total), stage),
    }).catch((error: unknown) => {
      builtBase?.abandon()
      throw signal.aborted ? error : fileFault(error, input)
    })
    progress.show(1, 'writing')
    makeFolder()
    const bytes = writeGraphFile(output, parts)
    builtBase?.publish()
    leftOut?.finish()
    return { parts, bytes, base: builtBase }
  }
  const built = await withProgress(io, deps, build, 'stopped; nothing was written').catch((error) => {
    leftOut?.abandon()
    throw error
  })
  report(io, flags, { ...built, output, seconds: (performance.now() - startedAt) / 1000 })
  const { maxMapBytes } = config.routing
  if (built.bytes > maxMapBytes)
    io.stderr.write(
      `fieldgate: the map is larger than routing.maxMapBytes (${maxMapBytes}); raise this setting to serve it\n`,
    )
}

/** Turn costs are for cars: an explicit choice for others is refused. @throws a usage error */
function turnCostsOf({ profile, turnCosts }: BuildFlags): TurnCosts | 'none' {
  if (turnCosts === undefined || turnCosts === 'none') return 'none'
  if (profile !== 'car')
    throw usageError(
      `--turn-costs: found ${turnCosts} with --profile ${profile}, expected none or --profile car`,
    )
  return turnCosts
}

/** Resolves the files of a build, and refuses an output that cannot be written. */
function findFiles(extract: string, flags: BuildFlags, dataDir: string, deps: CliDeps) {
  const input = path.resolve(deps.cwd, extract)
  const name = nameOf(flags.output ?? extract)
  const { mapsDir } = layoutOf(dataDir)
  const output = path.resolve(deps.cwd, flags.output ?? path.join(mapsDir, `${name}.graph`))
  if (flags.output !== undefined) checkFolder(output)
  if (output === input) throw usageError('--output: found the extract itself, expected another file')
  if (flags.force !== true && existsSync(output))
    throw new Error(`found the map ${output}, expected a file that does not exist, or --force to replace it`)
  const base = flags.base === true ? baseFileOf(output) : undefined
  if (base !== undefined && flags.force !== true && existsSync(base))
    throw new Error(
      `found the base map ${base}, expected a file that does not exist, or --force to replace it`,
    )
  return { input, output, base, name, mapsDir }
}

/** Opens the file of `--report`. */
function openReport({ report }: BuildFlags, deps: CliDeps): LeftOutReport | undefined {
  if (report === undefined) return undefined
  const file = path.resolve(deps.cwd, report)
  checkFolder(file, '--report')
  return createLeftOutReport(file)
}

/** Prints the size of the new map, the cost of the build, and what it left out. */
function report(
  io: CliIo,
  flags: BuildFlags,
  built: { output: string; bytes: number; seconds: number; parts: GraphParts; base: BaseBuild | undefined },
): void {
  const { output, bytes, seconds, parts, base } = built
  const peakRssBytes = process.resourceUsage().maxRSS * 1024
  const counts = countsOf(parts)
  if (flags.json === true) {
    const left = parts.meta.counts
    printJson(io, {
      file: output,
      bytes,
      seconds,
      peakRssBytes,
      ...counts,
      left,
      ...(base && { base: base.facts }),
    })
    return
  }
  io.stdout.write(
    `${output}: ${group(counts.junctions)} junctions, ${group(counts.segments)} segments, ${group(counts.nodes)} nodes, ${group(counts.arcs)} arcs, ${megabytes(bytes)} MB\n` +
      `built in ${seconds.toFixed(1)} s, peak memory ${Math.round(peakRssBytes / 1e6)} MB\n`,
  )
  const lines = leftOutLines(parts.meta.counts)
  if (lines.length > 0) io.stdout.write(`left out:\n${lines.map((line) => `  ${line}\n`).join('')}`)
  if (base !== undefined)
    io.stdout.write(
      baseLines(base.facts)
        .map((line) => `${line}\n`)
        .join(''),
    )
}

/** Name of a map: `porto` for `/x/porto.osm.pbf` and `/y/porto.graph`. */
function nameOf(file: string): string {
  return path.basename(file).replace(/(\.osm)?\.(pbf|graph)$/i, '') || 'map'
}

/** Share of the whole build that is done when a fraction of a stage is done. */
function share(stage: BuildStage, fraction: number): number {
  const [from, to] = SHARES[stage]
  return from + fraction * (to - from)
}
