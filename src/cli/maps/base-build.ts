import { renameSync, rmSync } from 'node:fs'
import { bboxOf } from '../../geo/bbox.js'
import type { MultiPolygon, Polygon } from '../../geo/types.js'
import { buildBase } from '../../mapbuild/base/build-base.js'
import { ATTRIBUTION, LICENCE } from '../../mapbuild/build-map.js'
import { createBaseFile } from '../../storage/base-map/write.js'
import { fileFault } from '../file-fault.js'
import type { LongWork } from '../with-progress.js'
import { type LeftOutReport, leftOutLines } from './left-out-report.js'
import { group, megabytes } from './map-facts.js'

/** Share of the progress bar that a base map takes beside its graph. */
export const BASE_SHARE = 0.6

interface BaseBuildOptions extends LongWork {
  readonly input: string
  /** the finished file */
  readonly file: string
  readonly name: string
  readonly area: Polygon | MultiPolygon | undefined
  /** of the program */
  readonly version: string
  readonly leftOut: LeftOutReport | undefined
}

/** Facts of a base map that was built. */
interface BaseFacts {
  readonly file: string
  readonly bytes: number
  readonly seconds: number
  readonly tiles: number
  readonly places: number
  readonly left: Readonly<Record<string, number>>
  readonly seaFault: string | null
}

/** Complete base map under its temporary name. */
export interface BaseBuild {
  readonly facts: BaseFacts
  /** Gives the file its name. */
  publish(): void
  /** Removes the file. */
  abandon(): void
}

/** Builds the base map of `map build --base`. @throws AppError BAD_EXTRACT, with the file's name */
export async function buildBaseFile(options: BaseBuildOptions): Promise<BaseBuild> {
  const { input, file, name, area, version, leftOut, progress, signal } = options
  const startedAt = performance.now()
  const temp = `${file}.${process.pid}.tmp`
  const within = area === undefined ? undefined : bboxOf(area)
  const built = await buildBase({
    input,
    name,
    builtBy: `fieldgate ${version}`,
    attribution: ATTRIBUTION,
    licence: LICENCE,
    within: within && [within[0], within[1], within[2], within[3]],
    tempStem: temp,
    sink: createBaseFile(temp),
    onLeftOut: leftOut?.add,
    signal,
    onProgress: (share) => progress.show(BASE_SHARE * share, 'base map'),
  }).catch((error: unknown) => {
    throw signal.aborted ? error : fileFault(error, input)
  })
  const { bytes, tiles, places, counts, seaFault = null } = built
  const seconds = (performance.now() - startedAt) / 1000
  return {
    facts: { file, bytes, seconds, tiles, places, left: counts, seaFault },
    publish: () => renameSync(temp, file),
    abandon: () => rmSync(temp, { force: true }),
  }
}

/** Describes a base map that was built, in lines. */
export function baseLines({ file, bytes, seconds, tiles, places, left, seaFault }: BaseFacts): string[] {
  const lines = leftOutLines(left).map((line) => `  ${line}`)
  const entangled = left.areasEntangled ?? 0
  const dropped = left.featuresWithoutRoom ?? 0
  if (entangled > 0) lines.push(`  ${group(entangled)} parts of areas that cross themselves too often`)
  if (dropped > 0) lines.push(`  ${group(dropped)} small features of tiles that have too many`)
  return [
    `${file}: ${group(tiles)} tiles, ${group(places)} names, ${megabytes(bytes)} MB, built in ${seconds.toFixed(1)} s`,
    ...(seaFault === null ? [] : [`the sea is not filled, its coast is a line: ${seaFault}`]),
    ...(lines.length === 0 ? [] : ['left out of the base map:', ...lines]),
  ]
}
