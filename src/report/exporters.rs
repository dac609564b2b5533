//! The files of a run.

use super::curve_picture::picture;
use super::curves::curves;
use super::gap_picture::{gap_picture, has_gaps};
use super::html::html;
use super::markdown::markdown;
use super::plot::curve::{CurvePicture, curve_png, curve_svg};
use super::plot::gaps::{GapPicture, gap_png, gap_svg};
use super::plot::{BurstPlot, PlotError};
use super::samples::write_samples;
use super::sizes::{is_over_sizes, size_picture};
use crate::error::{Error, Result};
use crate::result::{RunResult, Series};

/// Makes one file of a run.
pub trait Exporter {
    /// Name of the file.
    fn file_name(&self) -> &'static str;
    /// Whether a run has such a file.
    fn applies(&self, _run: &RunResult) -> bool {
        true
    }
    /// Its contents.
    ///
    /// # Errors
    /// Exit code 1 when the run cannot be shown in this form.
    fn export(&self, run: &RunResult, series: &[Series]) -> Result<Vec<u8>>;
}

/// Every file of a run, the most precious first: a run that is being killed may not get further.
pub fn exporters() -> Vec<Box<dyn Exporter>> {
    vec![
        Box::new(Json),
        Box::new(Csv),
        Box::new(Markdown),
        Box::new(Html),
        Box::new(Svg),
        Box::new(Png),
        Box::new(CurveSvg),
        Box::new(CurvePng),
        Box::new(SizesSvg),
        Box::new(SizesPng),
        Box::new(GapSvg),
        Box::new(GapPng),
    ]
}

struct Json;

impl Exporter for Json {
    fn file_name(&self) -> &'static str {
        "result.json"
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(run)
            .map_err(|error| Error::other(format!("cannot write the result as JSON: {error}")))?;
        text.push(b'\n');
        Ok(text)
    }
}

struct Csv;

impl Exporter for Csv {
    fn file_name(&self) -> &'static str {
        "samples.csv"
    }
    fn export(&self, _: &RunResult, series: &[Series]) -> Result<Vec<u8>> {
        Ok(write_samples(series).into_bytes())
    }
}

struct Markdown;

impl Exporter for Markdown {
    fn file_name(&self) -> &'static str {
        "report.md"
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        Ok(markdown(run).into_bytes())
    }
}

struct Html;

impl Exporter for Html {
    fn file_name(&self) -> &'static str {
        "report.html"
    }
    fn export(&self, run: &RunResult, series: &[Series]) -> Result<Vec<u8>> {
        Ok(html(run, series).into_bytes())
    }
}

struct Svg;

impl Exporter for Svg {
    fn file_name(&self) -> &'static str {
        "burst.svg"
    }
    fn applies(&self, run: &RunResult) -> bool {
        curves(run).is_empty() && !is_over_sizes(run)
    }
    fn export(&self, run: &RunResult, series: &[Series]) -> Result<Vec<u8>> {
        BurstPlot { run, series }
            .svg()
            .map(String::into_bytes)
            .map_err(|error| Error::other(format!("cannot draw the plot: {error}")))
    }
}

struct Png;

impl Exporter for Png {
    fn file_name(&self) -> &'static str {
        "burst.png"
    }
    fn applies(&self, run: &RunResult) -> bool {
        curves(run).is_empty() && !is_over_sizes(run)
    }
    fn export(&self, run: &RunResult, series: &[Series]) -> Result<Vec<u8>> {
        BurstPlot { run, series }
            .png()
            .map_err(|error| Error::other(format!("cannot draw the plot: {error}")))
    }
}

struct CurveSvg;

impl Exporter for CurveSvg {
    fn file_name(&self) -> &'static str {
        "curve.svg"
    }
    fn applies(&self, run: &RunResult) -> bool {
        !curves(run).is_empty()
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        drawn(run, |picture| curve_svg(picture).map(String::into_bytes))
    }
}

struct CurvePng;

impl Exporter for CurvePng {
    fn file_name(&self) -> &'static str {
        "curve.png"
    }
    fn applies(&self, run: &RunResult) -> bool {
        !curves(run).is_empty()
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        drawn(run, curve_png)
    }
}

struct SizesSvg;

impl Exporter for SizesSvg {
    fn file_name(&self) -> &'static str {
        "sizes.svg"
    }
    fn applies(&self, run: &RunResult) -> bool {
        is_over_sizes(run)
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        drawn(run, |picture| curve_svg(picture).map(String::into_bytes))
    }
}

struct SizesPng;

impl Exporter for SizesPng {
    fn file_name(&self) -> &'static str {
        "sizes.png"
    }
    fn applies(&self, run: &RunResult) -> bool {
        is_over_sizes(run)
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        drawn(run, curve_png)
    }
}

struct GapSvg;

impl Exporter for GapSvg {
    fn file_name(&self) -> &'static str {
        "gaps.svg"
    }
    fn applies(&self, run: &RunResult) -> bool {
        has_gaps(run)
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        gaps_drawn(run, |picture| gap_svg(picture).map(String::into_bytes))
    }
}

struct GapPng;

impl Exporter for GapPng {
    fn file_name(&self) -> &'static str {
        "gaps.png"
    }
    fn applies(&self, run: &RunResult) -> bool {
        has_gaps(run)
    }
    fn export(&self, run: &RunResult, _: &[Series]) -> Result<Vec<u8>> {
        gaps_drawn(run, gap_png)
    }
}

fn gaps_drawn(
    run: &RunResult,
    draw: impl Fn(&GapPicture) -> std::result::Result<Vec<u8>, PlotError>,
) -> Result<Vec<u8>> {
    let failed = |why: String| Error::other(format!("cannot draw the gaps: {why}"));
    let picture = gap_picture(run).ok_or_else(|| failed("there are none".to_string()))?;
    draw(&picture).map_err(|error| failed(error.to_string()))
}

fn drawn(
    run: &RunResult,
    draw: impl Fn(&CurvePicture) -> std::result::Result<Vec<u8>, PlotError>,
) -> Result<Vec<u8>> {
    let failed = |why: String| Error::other(format!("cannot draw the curves: {why}"));
    let picture = picture(run)
        .or_else(|| size_picture(run))
        .ok_or_else(|| failed("there are none".to_string()))?;
    draw(&picture).map_err(|error| failed(error.to_string()))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_names_every_file() {
        let readme = include_str!("../../README.md");
        for exporter in exporters() {
            let name = format!("`{}`", exporter.file_name());
            assert!(readme.contains(&name), "{name}");
        }
    }
}
