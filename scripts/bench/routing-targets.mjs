// What the route engine must reach (docs/performance-routes.md): figures in ms, seconds or MB as their rows say.
const seen = { porto: { p50: 0.25, p95: 0.5 }, mosaic20: { p50: 0.8, p95: 1.6 } }
const scattered = { porto: { p95: 30 }, mosaic20: { p95: 500 } }
const areas = { porto: { p95: 30 }, mosaic20: { p95: 180 } }

export const TARGETS = {
  seen,
  'new scattered': scattered,
  'new discs': areas,
  'rows scattered': scattered,
  'rows discs': areas,
  overlay: { porto: { p50: 10 }, mosaic20: { p50: 25 } },
  via: { porto: { p50: 8 }, mosaic20: { p50: 25 } },
  matrix: { porto: { p50: 60 }, mosaic20: { p50: 250 } },
  'build wall': { porto: { max: 10 }, mosaic20: { max: 150 } },
  'build peak': { porto: { max: 300 }, mosaic20: { max: 1000 } },
  file: { porto: { max: 12 }, mosaic20: { max: 220 } },
  load: { porto: { max: 150 }, mosaic20: { max: 1500 } },
  rss: { porto: { max: 25 }, mosaic20: { max: 330 } },
}
