import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import type { Settings } from '../../../src/config/config.js'
import { writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { makeGraph } from '../make-graph.js'
import { startGateway, type TestGateway } from '../start-gateway.js'
import { town } from '../town.js'
import { APIS, ROUTING } from './apis.js'
import type { Crossing } from './crossing.js'
import { TRANSPORT } from './transport.js'

/** How each setting that limits something is crossed. */
export const CROSSINGS: Record<string, Crossing> = { ...TRANSPORT, ...APIS, ...ROUTING }

/** Starts a gateway with the map of a small town. */
export async function startInTown(t: Test, settings: Settings): Promise<TestGateway> {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  writeGraphFile(path.join(dataDir, 'maps', 'town.graph'), makeGraph(town()))
  return await startGateway(t, { dataDir, settings })
}
