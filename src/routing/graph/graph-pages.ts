import type { Graph, GraphInMemory } from './graph.js'
import { SHORT_ENTRY_BYTES, SHORT_INDEXES } from './index-trees.js'
import { type Crc32, createPages, type Paged, type Pages, pageSection, withBits, withSteps } from './paged.js'

/** Sections of which an answer reads a few hundred bytes here and there. */
const PAGED_SECTIONS = [
  'junctionOsmId',
  'firstGeometry',
  'geometry',
  'segmentName',
  'linkNotes',
  'linkFirstArc',
  'linkArcs',
  'strings',
  'segmentIndex',
  'junctionIndex',
] as const satisfies readonly (keyof Graph)[]
export type PagedName = (typeof PAGED_SECTIONS)[number]

/** Sections that other threads need to lay cells on roads, see `SentLines`. */
const LINE_SECTIONS = [
  'junctionLngE7',
  'junctionLatE7',
  'segmentTail',
  'segmentHead',
  'segmentLengthMm',
  'firstGeometry',
  'geometry',
  'segmentIndex',
] as const satisfies readonly (keyof Graph)[]

/** Returns the sections that are read by pages: none when they are no larger than the cache together. */
export function pagedSections(bytesOf: (name: PagedName) => number, cacheBytes: number): PagedName[] {
  // indices of two bytes are not read as words; such an index is small
  const isSmall = bytesOf('segmentIndex') < SHORT_INDEXES * SHORT_ENTRY_BYTES
  const names = PAGED_SECTIONS.filter((name) => name !== 'segmentIndex' || !isSmall)
  const bytes = names.reduce((sum, name) => sum + bytesOf(name), 0)
  return bytes <= cacheBytes ? [] : names
}

/** True for a section that stays in memory which threads share. */
export function isShared(name: string, paged: readonly PagedName[]): boolean {
  return LINE_SECTIONS.some((one) => one === name) && !paged.some((one) => one === name)
}

/**
 * Returns a graph whose sections that answers read here and there are read from the file by pages.
 *
 * @param offsetOf section → its place in the file
 */
export function withPages(
  graph: GraphInMemory,
  names: readonly PagedName[],
  offsetOf: (name: PagedName) => number,
  paging: Pick<Pages, 'read' | 'fd' | 'changed'> & { readonly cacheBytes: number; readonly crc32: Crc32 },
): Graph {
  const pages = createPages(paging, paging.cacheBytes)
  const paged = names.map((name) => [name, pageSection(pages, graph[name], offsetOf(name))])
  const { linkNotes, firstGeometry, ...others } = Object.fromEntries(paged) as Record<PagedName, Paged>
  return {
    ...graph,
    ...others,
    // few links have notes; each line is found by its offsets
    linkNotes: withBits(linkNotes, graph.linkNotes),
    firstGeometry: withSteps(firstGeometry, graph.firstGeometry),
  }
}
