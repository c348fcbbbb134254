import path from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { loadGraphFile } from '../../files/graph-file-loader.js'
import { type DataLayout, layoutOf, mapFiles } from '../../files/layout.js'
import { countryCodes, limitsOf } from '../../mapbuild/profile/countries.js'
import { PROFILE_NAMES } from '../../mapbuild/profile/profiles.js'
import { verifyMap } from '../../routing/cch/map-hierarchy.js'
import type { Graph } from '../../routing/graph/graph.js'
import { fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from '../io.js'
import { readSettings } from '../settings.js'
import {
  checkBase,
  describeBase,
  type FindFlags,
  findPlaces,
  isBaseFile,
  printBaseInfo,
  readLimit,
} from './base-maps.js'
import { type ComparedMaps, compareBuilds, comparisonLines } from './compare.js'
import { leftOutLines } from './left-out-report.js'
import { type BuildFlags, runMapBuild } from './map-build.js'
import { conditionsLine, countsOf, group, megabytes } from './map-facts.js'

/**
 * Adds the commands for road maps. They need no gateway and stop none; a running one reads new maps at
 * SIGHUP.
 */
export function addMapCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const map = program.command('map').description('road maps')
  map
    .command('build')
    .description('builds a map from an OpenStreetMap extract')
    .argument('<extract>', 'an .osm.pbf file')
    .option('-o, --output <file>', 'map file to write (default: maps/NAME.graph in the data directory)')
    .addOption(new Option('--profile <profile>', 'kind of traveller').choices(PROFILE_NAMES).default('car'))
    .option('--area <file>', 'GeoJSON polygon; ways without a node inside are left out')
    .option(
      '--country <code>',
      'two-letter code, such as JP, for legal speed limits and the side of driving',
      readCountry,
    )
    .addOption(
      new Option(
        '--turn-costs <turns>',
        'turns that cost time, for cars: at signs and gates, also by angle at main roads, or at all junctions',
      ).choices(['none', 'signs', 'main', 'full']),
    )
    .option('--report <file>', 'CSV file to write: each object that is left out, with the cause')
    .option('--base', 'also writes NAME.mbtiles: water, land use, buildings, streets and names to draw')
    .option('--force', 'replace a map of the same name')
    .action(async (extract: string, _options, command: Command) => {
      await runMapBuild(extract, command.optsWithGlobals<BuildFlags>(), io, deps)
    })
  map
    .command('info')
    .description('prints the properties of a map')
    .argument('<file>', 'a map file, or its base map')
    .action((file: string, _options, command: Command) => {
      const print = isBaseFile(file) ? printBaseInfo : printInfo
      print(path.resolve(deps.cwd, file), command.optsWithGlobals<GlobalOptions>(), io)
    })
  map
    .command('check')
    .description('checks a map and prints every fault')
    .argument('<file>', 'a map file, or its base map')
    .option('--against <file>', 'another build, to print what differs: roads, speeds, names, turns')
    .action((file: string, _options, command: Command) => {
      const { against, ...globals } = command.optsWithGlobals<GlobalOptions & { against?: string }>()
      const other = against === undefined ? undefined : path.resolve(deps.cwd, against)
      check(path.resolve(deps.cwd, file), other, globals, io)
    })
  map
    .command('find')
    .description('finds places by name in the base maps')
    .argument('<text>', 'beginning of a name or of one of its words')
    .option('--map <name>', 'this map alone')
    .option('--limit <count>', 'most places of each map', readLimit, 10)
    .action((text: string, _options, command: Command) =>
      findPlaces(text, command.optsWithGlobals<FindFlags>(), io, deps),
    )
  map
    .command('list')
    .description('prints the maps that the gateway serves')
    .action((_options, command: Command) => list(command.optsWithGlobals<GlobalOptions>(), io, deps))
}

function printInfo(file: string, { json }: GlobalOptions, io: CliIo): void {
  const graph = load(file)
  const { meta } = graph
  const counts = countsOf(graph)
  if (json === true) {
    printJson(io, { file, bytes: graph.fileBytes, ...counts, ...meta })
    return
  }
  const rows: [string, string][] = [
    ['file', file],
    ['name', meta.name],
    ['profile', `${meta.profile}${meta.country === null ? '' : `, speeds of ${meta.country}`}`],
    ['turn costs', meta.turnCosts ?? 'none'],
    ['time zone', meta.timeZone ?? 'none'],
    ['conditions', conditionsLine(graph)],
    ['size', `${megabytes(graph.fileBytes)} MB`],
    [
      'network',
      Object.entries(counts)
        .map(([what, count]) => `${group(count)} ${what}`)
        .join(', '),
    ],
    ['built from', `${meta.builtFrom.file}, data of ${meta.builtFrom.osmTimestamp ?? 'unknown date'}`],
    ['sha256', meta.builtFrom.sha256],
    ['built by', meta.builtBy],
    ['data', `${meta.attribution}, ${meta.licence}`],
    ['bbox', meta.bbox.join(', ')],
    ['area', JSON.stringify(meta.area)],
    [
      'build counts',
      Object.entries(meta.counts)
        .map(([what, count]) => `${what} ${count}`)
        .join(', '),
    ],
  ]
  for (const line of leftOutLines(meta.counts)) rows.push(['left out', line])
  for (const [what, value] of rows) io.stdout.write(`${what.padEnd(18)} ${value}\n`)
}

/** Prints the faults of a map; and, when it has none, what differs from another build. */
function check(file: string, against: string | undefined, { json }: GlobalOptions, io: CliIo): void {
  const other = against === undefined ? undefined : load(against)
  let faults: string[] = []
  let compared: ComparedMaps | undefined
  try {
    if (isBaseFile(file)) faults = checkBase(file)
    else {
      const graph = loadGraphFile(file)
      faults = verifyMap(graph)
      if (other !== undefined && faults.length === 0) compared = compareBuilds(graph, other)
    }
  } catch (error) {
    faults = [oneLine(fileFault(error, file)).replace(`${file}: `, '')]
  }
  if (json === true) printJson(io, { file, ok: faults.length === 0, faults, ...(compared && { compared }) })
  else if (faults.length === 0) io.stdout.write(`ok: ${file}\n`)
  if (json !== true && compared !== undefined)
    io.stdout.write(
      comparisonLines(compared)
        .map((line) => `${line}\n`)
        .join(''),
    )
  for (const fault of faults) io.stderr.write(`fieldgate: ${file}: ${fault}\n`)
  if (faults.length > 0) io.setExitCode(1)
}

function list(globals: GlobalOptions, io: CliIo, deps: CliDeps): void {
  const { dataDir, config } = readSettings(globals, deps)
  const rows = [...namedFiles(layoutOf(dataDir)), ...config.routing.maps].map((file) => describe(file))
  if (globals.json === true) printJson(io, rows)
  for (const row of rows) {
    if ('fault' in row) {
      io.stderr.write(`fieldgate: ${row.file}: ${row.fault}\n`)
      io.setExitCode(1)
    } else if (globals.json !== true) {
      const base =
        row.base === null || 'fault' in row.base ? '' : `  base map ${megabytes(row.base.bytes)} MB`
      io.stdout.write(
        `${row.name}  ${row.profile}  ${group(row.nodes)} nodes  ${megabytes(row.bytes)} MB${base}  ${row.builtFrom} (${row.osmTimestamp ?? 'unknown date'})  ${row.file}\n`,
      )
    }
    if ('base' in row && row.base !== null && 'fault' in row.base) {
      io.stderr.write(`fieldgate: ${row.base.file}: ${row.base.fault}\n`)
      io.setExitCode(1)
    }
  }
}

function describe(file: string) {
  try {
    const graph = loadGraphFile(file)
    const { name, profile, builtFrom } = graph.meta
    return {
      file,
      name,
      profile,
      bytes: graph.fileBytes,
      ...countsOf(graph),
      builtFrom: builtFrom.file,
      osmTimestamp: builtFrom.osmTimestamp,
      base: describeBase(file),
    }
  } catch (error) {
    return { file, fault: oneLine(fileFault(error, file)).replace(`${file}: `, '') }
  }
}

/** Map files of the data directory; none before a gateway has created its folder. */
function namedFiles(layout: DataLayout): string[] {
  try {
    return mapFiles(layout)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function load(file: string): Graph {
  try {
    return loadGraphFile(file)
  } catch (error) {
    throw fileFault(error, file)
  }
}

function readCountry(code: string): string {
  if (limitsOf(code) === undefined) {
    throw new InvalidArgumentError(`Expected one of ${countryCodes().join(', ')}.`)
  }
  return code.toUpperCase()
}
