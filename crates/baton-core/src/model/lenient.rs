//! The scalar forms that ProtoJSON lets a writer choose between.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// `null` means unset.
pub fn default_on_null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    d: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

/// Text where the empty text means unset, as proto3 has no other way to say it.
pub fn nonempty<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(d)?.filter(|text| !text.is_empty()))
}

/// A message: an object and nothing else. serde would take an array of the members too; `null` is unset.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
    struct Members<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
        type Value = Option<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
        fn visit_unit<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }
    }
    d.deserialize_any(Members(PhantomData))
}

/// A boolean; `"true"` and `"false"` as text are taken too, as they come in query parameters.
pub fn boolean<'de, D: Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    struct Bool;
    impl Visitor<'_> for Bool {
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("true or false")
        }
        fn visit_bool<E>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }
        fn visit_unit<E>(self) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_str<E: de::Error>(self, value: &str) -> Result<bool, E> {
            value.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(value), &self))
        }
    }
    d.deserialize_any(Bool)
}

/// An `int32`, from a number or from text.
pub fn optional_integer<'de, D: Deserializer<'de>>(d: D) -> Result<Option<i32>, D::Error> {
    struct Int;
    impl Visitor<'_> for Int {
        type Value = Option<i32>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a 32-bit whole number")
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
            i32::try_from(value).map(Some).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
            i32::try_from(value)
                .map(Some)
                .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
        }
        fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
            if value.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value) {
                Ok(Some(value as i32))
            } else {
                Err(E::invalid_value(de::Unexpected::Float(value), &self))
            }
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
            if value.is_empty() {
                return Ok(None);
            }
            value.parse().map(Some).map_err(|_| E::invalid_value(de::Unexpected::Str(value), &self))
        }
    }
    d.deserialize_any(Int)
}

/// An `int32` where absence and zero are the same.
pub fn integer<'de, D: Deserializer<'de>>(d: D) -> Result<i32, D::Error> {
    Ok(optional_integer(d)?.unwrap_or_default())
}

/// An enum by its name or its number, which may be text as in a query; `null` is the unspecified value.
pub(super) fn named<'de, D, T>(d: D, what: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + 'static,
    Named<T>: Lookup<T>,
{
    d.deserialize_any(Named { what, of: PhantomData })
}

pub(super) struct Named<T> {
    what: &'static str,
    of: PhantomData<T>,
}

/// How an enum is found by what was written.
pub(super) trait Lookup<T> {
    fn by_name(name: &str) -> Option<T>;
    fn by_number(number: i64) -> Option<T>;
}

impl<T: Default> Visitor<'_> for Named<T>
where
    Self: Lookup<T>,
{
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<T, E> {
        Self::by_name(value)
            .or_else(|| Self::by_number(value.parse().ok()?))
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(value), &self))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        i64::try_from(value)
            .ok()
            .and_then(Self::by_number)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        Self::by_number(value).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(value), &self))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

/// Declares a proto enum: its serde, its names and its numbers.
macro_rules! proto_enum {
    ($name:ident, $what:literal, { $($variant:ident = $number:literal => $text:literal),+ $(,)? }) => {
        impl $name {
            /// Every one, in the order of the numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in the protocol buffer definition.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The number in the protocol buffer definition.
            pub const fn number(self) -> i32 {
                match self { $(Self::$variant => $number),+ }
            }

            /// By its name in the protocol buffer definition.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }

            /// By its number in the protocol buffer definition.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }
        }

        impl $crate::model::lenient::Lookup<$name> for $crate::model::lenient::Named<$name> {
            fn by_name(name: &str) -> Option<$name> {
                $name::from_name(name)
            }
            fn by_number(number: i64) -> Option<$name> {
                i32::try_from(number).ok().and_then($name::from_number)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::model::lenient::named(deserializer, $what)
            }
        }
    };
}
pub(super) use proto_enum;
