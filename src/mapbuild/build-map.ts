import path from 'node:path'
import { AppError } from '../errors.js'
import type { MultiPolygon, Polygon } from '../geo/types.js'
import { coordinatesOf, rankSteps } from '../routing/cch/order.js'
import type { Coordinates } from '../routing/cch/separator.js'
import { type GraphMeta, LINK_FLAG } from '../routing/graph/graph.js'
import { openExtract } from './extract/blobs.js'
import { type Adjacency, buildAdjacency, linkHead, widestAdjacency } from './graph/adjacency.js'
import { buildAutomaton } from './graph/automaton.js'
import { flagMainNetwork } from './graph/components.js'
import { flagEnclosedRoads } from './graph/enclosed-roads.js'
import { type Expansion, expandNodes } from './graph/expand.js'
import { indexJunctions } from './graph/junction-index.js'
import { packDecisions } from './graph/pack-conditions.js'
import { findTurnsNearPrices } from './graph/priced-u-turns.js'
import { findPrivateThroughRoads } from './graph/private-roads.js'
import { packPrices, priceTurns, type TurnCosts, type TurnPricing } from './graph/turn-prices.js'
import { findTurningPlaces, flagTurns } from './graph/turning-places.js'
import { findTurnsNearRules, uTurnRules } from './graph/u-turns.js'
import { banUsefulUTurns } from './graph/useful-u-turns.js'
import type { GraphParts } from './graph/write-graph.js'
import { makeNetwork, type RoadNetwork } from './network/network.js'
import { timeZoneOf } from './network/time-zone.js'
import type { Profile, ProfileName } from './profile/profile.js'
import { findProfile } from './profile/profiles.js'
import { createTally, type OnLeftOut, type Tally } from './roads/left-out.js'
import { readRoads } from './roads/read-roads.js'

/** Input of `buildMap`. */
export interface BuildOptions {
  /** an `.osm.pbf` file */
  readonly input: string
  readonly profile: ProfileName
  /** ISO 3166-1 alpha-2, for legal speed limits; null = none */
  readonly country: string | null
  /** turns that have a price; only for cars. `none` by default */
  readonly turnCosts?: TurnCosts | 'none' | undefined
  /** ways without a node inside are left out; the others stay whole */
  readonly area?: Polygon | MultiPolygon | undefined
  readonly name: string
  /** program and version, stored in the file */
  readonly builtBy: string
  /** OpenStreetMap's by default */
  readonly attribution?: string
  readonly licence?: string
  readonly onProgress?: ((stage: BuildStage, done: number, total: number) => void) | undefined
  /** called for each object that is left out */
  readonly onLeftOut?: OnLeftOut | undefined
  /** stops the build between two blobs or two stages */
  readonly signal?: AbortSignal | undefined
}

/**
 * Stage of a build; progress counts bytes while reading (the extract is read twice), and steps while
 * building.
 */
export type BuildStage = 'reading' | 'building' | 'ordering'

/** Of OpenStreetMap, for maps and base maps. */
export const ATTRIBUTION = '© OpenStreetMap contributors'
export const LICENCE = 'ODbL-1.0'
/** Margin of the area around the roads when none is given: the default distance of snapping. */
const AREA_MARGIN_M = 1000
const BUILD_STAGES = 6

/**
 * Builds a road graph from an extract. The same extract and options give the same graph, byte for byte.
 *
 * Steps, one folder each: `extract` reads OSM objects; `profile` turns their tags into speed and access;
 * `roads` collects the ways and nodes that a profile uses; `network` cuts and joins them to segments between
 * junctions; `graph` makes nodes and arcs of them, with turn rules, and writes the file.
 *
 * Memory follows the roads, not the extract: about 60 bytes a node of a road while it is read, then the size
 * of the map.
 *
 * @throws AppError BAD_EXTRACT when the extract cannot be read or has no road for the profile
 */
export async function buildMap(options: BuildOptions): Promise<GraphParts> {
  const stages = createStages(options)
  const tally = createTally(options.onLeftOut)
  const { network, meta } = await readNetwork(options, tally, stages)
  const { segments, junctionCount } = network
  const found = await expandNetwork(options, network, stages)
  await stages.next()
  const main = flagMainNetwork(found, segments)
  tallyCutOff(network, tally)
  await stages.next()
  const { junctionLngE7, junctionLatE7 } = network
  const { arcMs, arcBans: _, startArcs: __, ...expansion } = found
  const sites = coordinatesOf({ ...expansion, junctionLngE7, junctionLatE7 }, meta.bbox)
  const nodeRank = await runOrder(found, sites, stages)
  return {
    junctionCount,
    segmentCount: segments.count,
    ...expansion,
    junctionLngE7,
    junctionLatE7,
    junctionOsmId: network.junctionOsmId,
    segmentTail: segments.tail,
    segmentHead: segments.head,
    segmentLengthMm: segments.lengthMm,
    firstGeometry: segments.firstGeometry,
    geometry: segments.geometry,
    segmentName: segments.name,
    linkSpeed: segments.linkSpeed,
    linkNotes: segments.linkNotes,
    linkFlags: segments.linkFlags,
    limits: segments.limits,
    ...(arcMs && packPrices(arcMs)),
    ...packDecisions(segments, found),
    strings: network.strings,
    segmentIndex: segments.index,
    junctionIndex: indexJunctions(junctionLngE7, junctionLatE7),
    nodeRank,
    meta: {
      ...meta,
      timeZone: timeZoneOf(junctionLngE7, junctionLatE7),
      counts: { ...meta.counts, mainNodes: main.nodes, mainArcs: main.arcs },
    },
  }
}

/** Makes nodes and arcs of a network. What is only needed for them is garbage when this returns. */
async function expandNetwork(
  options: BuildOptions,
  network: RoadNetwork,
  stages: Stages,
): Promise<Expansion> {
  const { segments, rules, junctionCount } = network
  const adjacency = buildAdjacency(segments, junctionCount)
  const widest = widestAdjacency(segments, adjacency)
  const headOf = (link: number) => linkHead(segments, link)
  flagEnclosedRoads(segments, junctionCount)
  const mayTurn = findTurns(network, adjacency, widest)
  const pricing = pricingOf(options, network, widest)
  const allRules = [
    ...rules,
    ...network.barrierRules,
    ...uTurnRules(findBans(network, adjacency, mayTurn, pricing)),
  ]
  const automaton = buildAutomaton(allRules, pricing === undefined ? [] : widest.links.filter(pricing.isTold))
  const restricted = new Set(allRules.flatMap(({ links }) => links.slice(0, -1).map(headOf)))
  const isPrivate = findPrivateThroughRoads(
    segments,
    junctionCount,
    (junction, hasLoop) => restricted.has(junction) || (hasLoop && pricing?.isToldAt(junction) === true),
  )
  await stages.next()
  return expandNodes(segments, widest, automaton, isPrivate, pricing)
}

/**
 * Finds where traffic may turn round, and flags the links that may and may not be left so: links that only
 * conditions open as if all were open, the others as while no condition holds.
 */
function findTurns(
  { segments, rules, barrierRules }: RoadNetwork,
  adjacency: Adjacency,
  widest: Adjacency,
): Uint8Array {
  const automaton = buildAutomaton([...rules, ...barrierRules])
  const mayTurn = findTurningPlaces(segments, adjacency, automaton)
  flagTurns(segments, adjacency, mayTurn, adjacency.isOpen)
  if (widest === adjacency) return mayTurn
  const isOpened = (link: number) => widest.isOpen(link) && !adjacency.isOpen(link)
  flagTurns(segments, widest, findTurningPlaces(segments, widest, automaton), isOpened)
  return mayTurn
}

/** Finds the links at whose ends the graph itself must not turn round, whatever conditions hold. */
function findBans(
  { segments, rules: turnRules }: RoadNetwork,
  adjacency: Adjacency,
  mayTurn: Uint8Array,
  pricing: TurnPricing | undefined,
): Set<number> {
  const rules = buildAutomaton(turnRules)
  const banned = findTurnsNearRules(adjacency, (link) => linkHead(segments, link), turnRules, mayTurn)
  banUsefulUTurns({ segments, adjacency, rules, mayTurn }, turnRules, banned)
  if (turnRules.some(({ decision }) => decision !== undefined)) {
    const inForce = turnRules.map(({ kind, links }) => ({ kind, links }))
    banUsefulUTurns({ segments, adjacency, rules: buildAutomaton(inForce), mayTurn }, inForce, banned)
  }
  if (pricing === undefined) return banned
  return new Set([...banned, ...findTurnsNearPrices(segments, adjacency, pricing, mayTurn)])
}

/** @returns undefined where turns cost nothing; a map for cyclists or pedestrians has no prices */
function pricingOf(
  { turnCosts = 'none', profile }: BuildOptions,
  network: RoadNetwork,
  adjacency: Adjacency,
): TurnPricing | undefined {
  if (turnCosts === 'none' || findProfile(profile).turns === undefined) return undefined
  return priceTurns(network, adjacency, turnCosts)
}

/** The profile, without what turn costs need where turns cost nothing. */
function profileOf({ profile, turnCosts = 'none' }: BuildOptions): Profile {
  const found = findProfile(profile)
  return turnCosts === 'none' ? { ...found, turns: undefined } : found
}

/** Counts the segments outside the main network, and lists their ways, each once for a run of its pieces. */
function tallyCutOff({ segments, pieceWayId }: RoadNetwork, tally: Tally): void {
  const isOpen = (segment: number) =>
    segments.linkSpeed[segment * 2]! > 0 || segments.linkSpeed[segment * 2 + 1]! > 0
  const isCutOff = (segment: number) =>
    isOpen(segment) &&
    ((segments.linkFlags[segment * 2]! | segments.linkFlags[segment * 2 + 1]!) & LINK_FLAG.MAIN) === 0
  for (let segment = 0; segment < segments.count; segment++) {
    if (isCutOff(segment)) tally.count('segmentsCutOff')
  }
  let last = -1
  for (const [piece, id] of pieceWayId.entries()) {
    if (id === last || !isCutOff(segments.pieceLink[piece]! >>> 1)) continue
    last = id
    tally.list('segmentsCutOff', id)
  }
}

/** Reports of progress. Each ends with a pause, and throws when the signal is aborted. */
interface Stages {
  /** Reports bytes of one reading. */
  readonly onBytes: (done: number, total: number) => Promise<void>
  /** Ends a step of building. */
  next(): Promise<void>
  /** Reports the share of the node order that is done. */
  onOrder(fraction: number): Promise<void>
}

/**
 * Creates the reports. Their pauses let other work of the thread run, such as drawing a bar and receiving a
 * signal.
 */
function createStages({ onProgress, signal }: BuildOptions): Stages {
  let stage = 0
  let lastDone = 0
  let pass = 0
  const pause = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
  }
  return {
    async onBytes(done, total) {
      if (done < lastDone) pass = 1 // the second reading has begun
      lastDone = done
      onProgress?.('reading', pass * total + done, total * 2)
      await pause()
    },
    async next() {
      onProgress?.('building', ++stage, BUILD_STAGES)
      await pause()
    },
    async onOrder(fraction) {
      onProgress?.('ordering', fraction, 1)
      await pause()
    },
  }
}

/**
 * Computes the order of the nodes, which takes longer than all other stages together, with a pause at every
 * percent.
 */
async function runOrder(expansion: Expansion, sites: Coordinates, stages: Stages): Promise<Uint32Array> {
  const steps = rankSteps(expansion, sites)
  let pauseAt = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) {
    const fraction = step.value / expansion.nodeCount
    if (fraction < pauseAt) continue
    pauseAt = fraction + 0.01
    await stages.onOrder(fraction)
  }
  await stages.onOrder(1)
  return step.value
}

/** Reads the extract into a network. Everything else that was read is garbage when this returns. */
async function readNetwork(
  options: BuildOptions,
  tally: Tally,
  stages: Stages,
): Promise<{ network: RoadNetwork; meta: GraphMeta }> {
  const profile = profileOf(options)
  const extract = openExtract(options.input)
  try {
    const roads = await readRoads(extract, profile, options.country, tally, stages.onBytes)
    await stages.next()
    const network = await makeNetwork(roads, options.area, stages.next)
    if (network === undefined) {
      const where = options.area === undefined ? '' : ' inside the area'
      throw new AppError(
        'BAD_EXTRACT',
        { file: options.input },
        { message: `the extract has no road for ${options.profile}${where}` },
      )
    }
    const meta = {
      name: options.name,
      profile: options.profile,
      country: options.country,
      builtFrom: {
        file: path.basename(options.input),
        sha256: extract.sha256(),
        osmTimestamp: roads.osmTimestamp,
      },
      builtBy: options.builtBy,
      attribution: options.attribution ?? ATTRIBUTION,
      licence: options.licence ?? LICENCE,
      area: (options.area ?? network.outline.polygon(AREA_MARGIN_M)) as GraphMeta['area'],
      bbox: network.outline.bbox(),
      counts: tally.counts,
      ...(profile.turns === undefined ? {} : { turnCosts: options.turnCosts }),
    }
    return { network, meta }
  } finally {
    extract.close()
  }
}
