import { build } from 'esbuild'
import t from 'tap'

t.test(
  'main: the sign-in page loads no other page, and the map library comes with the map page',
  async (t) => {
    const { metafile } = await build({
      entryPoints: ['src/console/main.ts'],
      bundle: true,
      splitting: true,
      write: false,
      metafile: true,
      format: 'esm',
      outdir: 'unused',
      logLevel: 'silent',
    })
    const atStart = new Set<string>()
    const visit = (file: string) => {
      if (atStart.has(file)) return
      atStart.add(file)
      for (const { path, kind } of metafile.outputs[file]?.imports ?? [])
        if (kind === 'import-statement') visit(path)
    }
    for (const [file, { entryPoint }] of Object.entries(metafile.outputs))
      if (entryPoint === 'src/console/main.ts') visit(file)
    t.ok(atStart.size > 0, 'the entry was found')
    const inputs = [...atStart].flatMap((file) => Object.keys(metafile.outputs[file]?.inputs ?? {}))
    t.same(
      inputs.filter((input) => input.includes('maplibre-gl') || input.includes('src/console/pages/')),
      [],
    )
    const all = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs))
    t.ok(
      all.some((input) => input.includes('maplibre-gl')),
      'another chunk holds it',
    )
  },
)
