import { openCsv } from './import-csv.js'
import type { ImportFile } from './import-file.js'
import { openGeojson } from './import-geojson.js'
import { openGeopackage } from './import-geopackage.js'

/**
 * Opens a GeoPackage, GeoJSON or CSV file by the end of its name. Rows are read while they are asked for.
 *
 * @throws Error in one line when the name or the file does not fit
 */
export async function openImport(file: string): Promise<ImportFile> {
  if (/\.gpkg$/i.test(file)) return openGeopackage(file)
  if (/\.(?:geo)?json$/i.test(file)) return await openGeojson(file)
  if (/\.csv$/i.test(file)) return await openCsv(file)
  throw new Error(`found the file name ${file}, expected one that ends with .gpkg, .geojson or .csv`)
}
