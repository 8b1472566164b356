//! One self-contained page; see [`crate::html`].

use crate::view::View;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    Ok(crate::html::page(std::slice::from_ref(view)))
}

pub(super) fn write_all(views: &[View<'_>]) -> Result<String, String> {
    Ok(crate::html::page(views))
}
