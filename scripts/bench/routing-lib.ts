// What benches written in plain JavaScript need of the program: maps, random questions, layer 1.
export { writeExtract } from '../../src/demo/write-extract.js'
export { loadGraphFile } from '../../src/files/graph-file-loader.js'
export { createSearchState } from '../../src/routing/search/search-state.js'
export { createOracle } from './routing-oracle.js'
export { circle, createRandom, LEVEL, randomPoint, riskAreas, times } from './routing-world.js'
